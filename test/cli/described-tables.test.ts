import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import {
  addJob,
  type Database,
  type DescribedKind,
  FOLDER,
  forEachDatabase,
  hoursFromNow,
  intray,
} from "./described/described-database.ts";
import { Cli, folderWith, jsonError } from "./run-cli.ts";

const TABLES = JSON.stringify(join(FOLDER, "tables.ts"));
/** More than a double holds. */
const LARGE = 9_007_199_254_740_993n;
const DEAD = ["--table", "email_jobs", "--group", "emails-failed"];

async function jobs({ kind, query, schema }: Database, group: string): Promise<string[]> {
  const { rows } = await query<{ id: string }>(
    `SELECT ${kind.words.text("job_id")} AS id FROM ${schema}.email_jobs
    WHERE name = ${kind.dialect.placeholder(1)} ORDER BY job_id`,
    [group],
  );
  return rows.map(({ id }) => id);
}

async function threeDead(kind: DescribedKind): Promise<Database> {
  const database = await kind.described();
  const held = hoursFromNow(kind, 1);
  await addJob(database, { id: 1n, group: "emails-failed", attempt: 5, error: "Error: no stock" });
  await addJob(database, {
    id: LARGE,
    group: "emails-failed",
    attempt: 5,
    due: held,
    payload: '{"n": 9007199254740993, "x": 0.10}',
    error: "connect to postgres://app:hunter2@db/x failed",
  });
  await addJob(database, { id: 3n, group: "emails-failed", lease: held, payload: "\u0000\u0001" });
  await addJob(database, { id: 4n });
  return database;
}

forEachDatabase("intray status", (kind) => {
  test("counts each group, and says what a table does not tell", async () => {
    const database = await kind.described();
    const { schema, url } = database;
    // SQLite has no row locks: its tables are leased.
    const isLeased = kind.name === "sqlite";
    const [held, gone] = [hoursFromNow(kind, 1), hoursFromNow(kind, -1)];
    await addJob(database, { id: 1n, due: gone });
    await addJob(database, { id: 2n });
    await addJob(database, { id: 3n, due: held });
    await addJob(database, { id: 4n, lease: held });
    await addJob(database, { id: 5n, lease: gone });
    await addJob(database, { id: 6n, done: kind.words.now });
    await addJob(database, { id: 7n, group: "emails-failed" });
    await database.query("INSERT INTO steps (run, body) VALUES ('a', '1'), ('b', '2'), ('b', '3')");
    const { groups } = JSON.parse((await intray(["status", "--json"], { url })).stdout);
    expect(groups).toMatchObject([
      {
        database: "main",
        table: `${schema}.email_jobs`,
        form: "lease",
        group: "emails",
        waiting: 2,
        future: 1,
        inWork: 1,
        expired: 1,
        processed: 1,
        oldestDue: expect.stringMatching(/^\d{4}-.*Z$/),
      },
      { group: "emails-failed", waiting: 1, future: 0, inWork: 0, oldestDue: null },
      {
        table: `${schema}.failed_jobs`,
        group: null,
        waiting: 0,
        inWork: isLeased ? 0 : null,
        processed: null,
      },
      {
        table: "steps",
        form: isLeased ? "lease" : "rowLock",
        group: "a",
        waiting: 1,
        future: null,
        inWork: isLeased ? 0 : null,
      },
      { table: "steps", group: "b", waiting: 2 },
    ]);
    expect(groups[0].oldestDueMs).toBeGreaterThanOrEqual(3_600_000);
    const one = await intray(["status", ...DEAD.slice(0, 2), "--group", "emails"], { url });
    expect(one.stdout).toContain(`${schema}.email_jobs`);
    expect(one.stdout).toMatch(/email_jobs +│ emails +│ +2 │ +1 │ +1 │ +1 │ +1 │ 1 h/);
    expect(one.stdout).not.toContain("failed");
    const limited = await intray(["status", "--table", "steps", "--limit", "1", "--json"], { url });
    expect(JSON.parse(limited.stdout).groups).toMatchObject([{ group: "a" }]);
  });

  test("looks again and again", async () => {
    const { url } = await kind.described();
    const watching = new Cli(["status", "--watch", "1", "--json"], { cwd: FOLDER, url });
    await until(() => watching.stdout.split("\n").length > 2);
    watching.process.kill("SIGTERM");
    expect(await watching.ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("says that a table or a column is missing", async () => {
    const database = await kind.described();
    await database.query("DROP TABLE steps");
    const args = ["status", "--table", "steps", "--json"];
    expect(jsonError(await intray(args, { url: database.url }))).toMatchObject({
      code: 1,
      error: { code: "NO_TABLE", message: expect.stringContaining("has no table steps") },
    });
    await database.query("CREATE TABLE steps (id bigint)");
    expect(jsonError(await intray(args, { url: database.url }))).toMatchObject({
      code: 1,
      error: { code: "NO_COLUMN", message: expect.stringContaining("run, body") },
    });
  });
});

forEachDatabase("78, D1: intray dead", (kind) => {
  test("lists rows by id, the highest first, page by page, ids exact", async () => {
    const { schema, url } = await threeDead(kind);
    const args = ["dead", "list", ...DEAD, "--json"];
    const first = await intray([...args, "--limit", "2"], { url });
    expect(JSON.parse(first.stdout)).toEqual({
      table: `${schema}.email_jobs`,
      dead: [
        {
          id: String(LARGE),
          group: "emails-failed",
          attempt: 5,
          due: expect.stringMatching(/Z$/),
          leasedUntil: null,
          reason: expect.not.stringContaining("hunter2"),
          payload: '{"n": 9007199254740993, "x": 0.10}',
          payloadLength: 34,
        },
        expect.objectContaining({ id: "3", leasedUntil: expect.stringMatching(/Z$/) }),
      ],
      next: "3",
    });
    const second = await intray([...args, "--after", "3"], { url });
    expect(JSON.parse(second.stdout)).toMatchObject({ dead: [{ id: "1" }], next: null });
    const table = await intray(["dead", "list", ...DEAD], { url });
    expect(table.stdout).toMatch(/│ 1 +│ emails-failed +│ +5 │ - +│ Error: no stock +│ \{\}/);
    expect(table.stdout).not.toContain("hunter2");
    expect(table.stdout).not.toContain("\u0000");
    const none = await intray(["dead", "list", "--table", "failed_jobs"], { url });
    expect(none).toMatchObject({ code: 0, stdout: `no row waits in ${schema}.failed_jobs\n` });
  });

  test("knows where dead letters go, where the configuration says it", async () => {
    const { schema, url } = await threeDead(kind);
    const config = (...deadLetters: string[]) =>
      folderWith({
        "intray.config.ts": `import { EmailJobs, FailedJobs } from ${TABLES};
          const deadLetters = [${deadLetters.join(", ")}];
          export default { databases: { main: {
            url: process.env.DATABASE_URL, tables: [EmailJobs, FailedJobs], deadLetters } } };`,
      });
    const cwd = await config('EmailJobs.queue("emails-failed")');
    const { stdout } = await intray(["dead", "list", "--json"], { cwd, url });
    expect(JSON.parse(stdout)).toMatchObject({
      table: `${schema}.email_jobs`,
      dead: { length: 3 },
    });
    const status = await intray(["status", "--json"], { cwd, url });
    expect(JSON.parse(status.stdout).groups).toMatchObject([
      { group: "emails", deadLetters: false },
      { group: "emails-failed", deadLetters: true },
      { table: `${schema}.failed_jobs`, deadLetters: false },
    ]);
    expect((await intray(["status"], { cwd, url })).stdout).toContain("emails-failed (dead)");
    const two = await config('EmailJobs.queue("emails-failed")', "FailedJobs");
    expect(await intray(["dead", "list"], { cwd: two, url })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `${schema}.email_jobs, group emails-failed; ${schema}.failed_jobs`,
      ),
    });
  });

  test("shows a row whole, every digit of it", async () => {
    const { url } = await threeDead(kind);
    const args = ["dead", "show", String(LARGE), ...DEAD];
    const { stdout } = await intray([...args, "--json"], { url });
    expect(stdout).toContain('"payload":{"n": 9007199254740993, "x": 0.10}');
    expect(stdout).not.toContain("hunter2");
    expect(JSON.parse(stdout)).toMatchObject({
      id: String(LARGE),
      columns: { jobId: String(LARGE), attempt: "5", done: null },
    });
    expect((await intray(args, { url })).stdout).toMatch(/^jobId +9007199254740993$/m);
    const live = await intray(["dead", "show", "4", ...DEAD, "--json"], { url });
    expect(jsonError(live)).toMatchObject({ code: 1, error: { code: "NOT_FOUND" } });
  });

  test("retries rows within the table: attempt, due and lease anew; rows in work are left alone", async () => {
    const database = await threeDead(kind);
    const { query, schema, url } = database;
    const args = ["dead", "retry", ...DEAD, "--to", "emails"];
    const some = await intray([...args, "--id", "1", "--id", "3", "--id", "99", "--json"], { url });
    expect(some.code).toBe(1);
    expect(JSON.parse(some.stdout)).toEqual({
      retried: 1,
      ids: ["1"],
      missing: ["3", "99"],
      to: { table: `${schema}.email_jobs`, group: "emails" },
      attempt: 1,
      leftBehind: [],
    });
    const all = await intray([...args, "--all"], { url });
    expect(all).toMatchObject({
      code: 0,
      stdout: `1 row is in ${schema}.email_jobs, group emails: attempt 1, due now\n`,
    });
    expect(await jobs(database, "emails-failed")).toEqual(["3"]);
    const { rows } = await query(
      `SELECT DISTINCT attempt, due, locked_until FROM ${schema}.email_jobs WHERE name = 'emails'`,
    );
    expect(rows).toEqual([{ attempt: 1, due: null, locked_until: null }]);
    for (const wrong of [
      ["dead", "retry", "--table", "email_jobs", "--to", "emails", "--all"],
      [...args.slice(0, -1), "emails-failed", "--all"],
      [...args, "--to-table", "nope", "--all"],
    ]) {
      expect(await intray(wrong, { url })).toMatchObject({ code: 2 });
    }
  });

  test("retries rows of a dead-letter table into the table that they came from", async () => {
    const database = await kind.described();
    const { query, schema, url } = database;
    const rows = Array.from(
      { length: 1201 },
      (_, index) => `(${index + 1}, 'emails', 'late', ${kind.bytes(`{"n": ${index + 1}}`)})`,
    );
    // SQL Server takes 1,000 rows in one.
    for (const part of [rows.slice(0, 600), rows.slice(600)]) {
      await query(
        `INSERT INTO ${schema}.failed_jobs (id, was, reason, payload) VALUES ${part.join(", ")}`,
      );
    }
    const args = ["dead", "retry", "--table", "failed_jobs", "--to-table", `${schema}.email_jobs`];
    expect(await intray([...args, "--all"], { url })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("say which one with --to"),
    });
    const lossy = await intray([...args, "--to", "emails", "--all"], { url });
    expect(lossy).toMatchObject({ code: 1, stderr: expect.stringMatching(/no column for was of/) });
    const careful = [...args, "--to", "emails", "--all", "--leave-behind", "was"];
    const { stdout } = await intray(careful, { url });
    expect(stdout).toBe(
      `1201 rows are in ${schema}.email_jobs, group emails: attempt 1, due now\nleft behind: was, reason\n`,
    );
    const moved = await query<{ attempt: number; payload: Uint8Array }>(
      `SELECT attempt, payload FROM ${schema}.email_jobs WHERE name = 'emails' ORDER BY job_id`,
    );
    expect(moved.rows).toHaveLength(1201);
    expect(new Set(moved.rows.map(({ attempt }) => attempt))).toEqual(new Set([1]));
    const payloads = moved.rows.map(({ payload }) => Buffer.from(payload).toString());
    expect(new Set(payloads).size).toBe(1201);
    expect(payloads).toContain('{"n": 1000}');
    expect((await query(`SELECT 1 FROM ${schema}.failed_jobs`)).rows).toEqual([]);
  });

  test("purges what is named, and nothing without --yes or of a live queue", async () => {
    const database = await threeDead(kind);
    const { schema, url } = database;
    expect(await intray(["dead", "purge", ...DEAD, "--all"], { url })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes"),
    });
    const whole = ["dead", "purge", "--table", "email_jobs", "--all", "--yes"];
    expect(await intray(whole, { url })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--group"),
    });
    expect(await jobs(database, "emails-failed")).toHaveLength(3);
    const one = await intray(["dead", "purge", ...DEAD, "--id", String(LARGE), "-y", "--json"], {
      url,
    });
    expect(JSON.parse(one.stdout)).toEqual({ purged: 1, ids: [String(LARGE)], missing: [] });
    const all = await intray(["dead", "purge", ...DEAD, "--all", "-y"], { url });
    expect(all.stdout).toBe(`1 row of ${schema}.email_jobs, group emails-failed deleted\n`);
    expect(await jobs(database, "emails-failed")).toEqual(["3"]);
    expect(await jobs(database, "emails")).toEqual(["4"]);
  });
});

forEachDatabase("78: intray purge", (kind) => {
  test("deletes processed rows by their age, in chunks", async () => {
    const { query, schema, url } = await kind.described();
    const values = Array.from({ length: 30 }, (_, index) => {
      const done = index < 25 ? hoursFromNow(kind, -24 * (index + 1)) : "NULL";
      return `('emails', ${kind.bytes("")}, ${done})`;
    });
    await query(
      `INSERT INTO ${schema}.email_jobs (name, payload, done) VALUES ${values.join(", ")}`,
    );
    const args = ["purge", "--table", "email_jobs", "--older-than", "7d", "--chunk", "4", "--yes"];
    const { code, stdout } = await intray(args, { url });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `19 processed rows of ${schema}.email_jobs deleted\n`,
    });
    const { rows } = await query<{ done: unknown }>(`SELECT done FROM ${schema}.email_jobs`);
    expect(rows).toHaveLength(11);
    expect(rows.filter(({ done }) => done !== null)).toHaveLength(6);
    const json = await intray([...args.slice(0, -3), "--yes", "--json"], { url });
    expect(JSON.parse(json.stdout)).toEqual({ table: `${schema}.email_jobs`, purged: 0 });
    const other = ["purge", "--table", "steps", "--older-than", "7d", "--yes", "--json"];
    expect(jsonError(await intray(other, { url }))).toMatchObject({
      code: 1,
      error: { message: expect.stringContaining("processedAt()") },
    });
  });
});
