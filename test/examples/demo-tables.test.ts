import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { Cli } from "../cli/run-cli.ts";
import { describeOn } from "../support/databases.ts";
import { repository } from "../support/package.ts";
import { until } from "../support/until.ts";

const LONG = { timeout: 120_000 };

function demo(): Cli {
  return new Cli(["demo-tables"], { entry: join(repository, "scripts", "example.mjs") });
}

/** The folder of the demo's file, once it has said where that is. */
function folderOf({ stdout }: Cli): string {
  const [, path] = /^on SQLite, in (.*)$/m.exec(stdout) ?? [];
  if (path === undefined) throw new Error(`it does not say where it works: ${stdout}`);
  return dirname(path);
}

describeOn("sqlite", "npm run demo:tables", () => {
  test("shows each step and what came of the mails, and leaves nothing behind", LONG, async () => {
    const running = demo();
    const { code, stderr, stdout } = await running.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("published 205 mails, and wrote a row that is no mail");
    expect(stdout).toMatch(/retry in \d+ ms {2}3 {2}Error: 421 too many connections/);
    expect(stdout).toMatch(/206 of 206: 203 processed, 3 dead, 0 to go/);
    expect(stdout).toMatch(/retried, of either .* 4 /);
    expect(stdout).toMatch(/ 1 .* no such mailbox /);
    expect(stdout).toMatch(/ 2 .* 451 down\.example does not answer /);
    expect(stdout).toMatch(/ 206 .* DecodeError: .* \{"to":"ada"\}/);
    expect(stdout).toMatch(/example\.com .* 200 /);
    expect(stdout).toMatch(/busy\.example .* 3 /);
    expect(existsSync(folderOf(running))).toBe(false);
  });

  test("stops in good order on SIGTERM", LONG, async () => {
    const running = demo();
    await until(() => /[1-9]\d* of 206/.test(running.stdout), { deadline: 60_000 });
    const folder = folderOf(running);
    expect(existsSync(folder)).toBe(true);
    running.process.kill("SIGTERM");
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(stdout).toContain("stopped before the end");
    expect(stdout).toMatch(/still waiting .* \d+ /);
    expect(existsSync(folder)).toBe(false);
  });
});
