import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repository } from "../support/package.ts";
import { requiredDatabases } from "../support/requirements.ts";

const workflow = await readFile(join(repository, ".github", "workflows", "ci.yml"), "utf8");

function named(key: string): string[] {
  const values = [...workflow.matchAll(new RegExp(`^ +${key}: (.*)$`, "gm"))].map(
    ([, value]) => value ?? "",
  );
  return values.filter((value) => !value.startsWith("${{"));
}

describe("the public workflow", () => {
  test("calls scripts that are there, and nothing else", async () => {
    const { scripts } = JSON.parse(await readFile(join(repository, "package.json"), "utf8"));
    const commands = [...workflow.matchAll(/run: (.*)$/gm)].map(([, command]) => command ?? "");
    expect(commands.length).toBeGreaterThan(6);
    for (const command of commands) {
      const [, script] = /^npm (?:run )?(\w+)(?: -- --project contract)?$/.exec(command) ?? [];
      expect(["ci", ...Object.keys(scripts)], command).toContain(script);
    }
  });

  test.each(["INTRAY_REQUIRE", "INTRAY_ONLY", "database"])(
    "names databases of the matrix: %s",
    (key) => {
      const values = named(key);
      expect(values.length).toBeGreaterThan(0);
      for (const value of values) expect(requiredDatabases(value).size).toBeGreaterThan(0);
    },
  );
});
