import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDatabase, isMissing } from "../support/databases.ts";
import { repository } from "../support/package.ts";
import { until } from "../support/until.ts";

/** PGlite takes its time to start where the machine is busy. */
const SLOW = { timeout: 180_000 };
const PATIENT = { deadline: 120_000 };

/** An example as `npm run example:...` runs it, and what it has printed so far. */
class Example {
  readonly process: ChildProcess;
  output = "";
  readonly #closed: Promise<unknown[]>;

  constructor(name: string, url: string | undefined) {
    const { DATABASE_URL: _, ...env } = process.env;
    this.process = spawn(process.execPath, [join("scripts", "example.mjs"), name], {
      cwd: repository,
      env: { ...env, ...(url !== undefined && { DATABASE_URL: url }) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on("data", (data) => {
        this.output += String(data);
      });
    }
    this.#closed = once(this.process, "close");
    onTestFinished(() => {
      this.process.kill("SIGKILL");
    });
  }

  /** Waits until it has printed all of these. */
  async prints(...texts: readonly string[]): Promise<void> {
    const ended = () => this.process.exitCode !== null && `ended: ${this.output}`;
    const missing = () => texts.filter((text) => !this.output.includes(text));
    await until(() => missing().length === 0 || ended(), PATIENT);
    expect(missing()).toEqual([]);
  }

  async ends(): Promise<void> {
    const [code] = await this.#closed;
    expect({ code, output: this.output }).toMatchObject({ code: 0 });
  }
}

describe.each(["pglite", "postgres"] as const)("the examples on %s", (where) => {
  const run = async (name: string): Promise<Example> => {
    if (where === "pglite") return new Example(name, undefined);
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    return new Example(name, database.url);
  };

  test.skipIf(isMissing(where))("mailer", SLOW, async () => {
    const mailer = await run("mailer");
    await mailer.prints(
      'sent "Welcome, Ada"',
      'sent "Welcome, Grace"',
      'sent "How do you like it?"',
      "421 too many connections",
      "row could not be read",
      "no such mailbox",
    );
    mailer.process.kill("SIGTERM");
    await mailer.ends();
    const [, givenUp] = mailer.output.split("Given up:\n");
    expect(givenUp).toMatch(/^- row 5: .*Invalid email address.*\n- row 3: no such mailbox\n$/);
  });

  test.skipIf(isMissing(where))("ledger", SLOW, async () => {
    const ledger = await run("ledger");
    await ledger.ends();
    const [, made, refused] = /(\d+) made, (\d+) refused/.exec(ledger.output) ?? [];
    expect(Number(made) + Number(refused)).toBe(100);
    expect(Number(refused)).toBeGreaterThan(0);
    expect(ledger.output).toContain("money before: 400, after: 400");
  });

  test.skipIf(isMissing(where))("crm-sync", SLOW, async () => {
    const sync = await run("crm-sync");
    await sync.prints("422", "503", "acme phone=+15550100: 200", ...ENTERPRISE);
    sync.process.kill("SIGINT");
    await sync.ends();
    expect(sync.output).toContain("acme: trial, basic, team, enterprise, +15550100\n");
    expect(sync.output).toContain("globex: trial, basic, team, enterprise\n");
    expect(sync.output).toContain("initech: trial, basic, team, enterprise\n");
  });
});

const ENTERPRISE = ["globex plan=enterprise: 200", "initech plan=enterprise: 200"];
