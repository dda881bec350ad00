import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOn } from "../support/databases.ts";
import { repository } from "../support/package.ts";
import { describedDatabase, FOLDER, intray } from "./described/described-database.ts";
import { emptyDatabase } from "./inbox-database.ts";
import { folderWith, jsonError } from "./run-cli.ts";

const TABLES = JSON.stringify(join(FOLDER, "tables.ts"));
const INDEX = JSON.stringify(join(repository, "src", "index.ts"));

/** A configuration in a folder of the test's own, where it may write. */
function configFolder(): Promise<string> {
  return folderWith({
    "intray.config.mjs": `import { EmailJobs, FailedJobs, Steps } from ${TABLES};
      export default { databases: { main: { url: process.env.DATABASE_URL, tables: [EmailJobs, FailedJobs, Steps] } } };`,
  });
}

interface CheckedTable {
  readonly table: string;
  readonly problems: readonly { statement?: string; column?: string; message: string }[];
  readonly advice: readonly { message: string }[];
}

async function problemsOf(url: string, ...args: string[]): Promise<CheckedTable[]> {
  const result = await intray(["check", "--json", ...args], { url });
  const told = JSON.parse(result.stdout);
  expect(told.ok).toBe(result.code === 0);
  return told.databases.flatMap(({ tables }: { tables: CheckedTable[] }) => tables);
}

describeOn("postgres", "82: intray check", () => {
  test("82: takes what ddl makes, from a configuration in TypeScript, and runs nothing", async () => {
    const database = await describedDatabase();
    const { code, stderr, stdout } = await intray(["check"], { url: database.url });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/main +│ app\.email_jobs +│ lease +│ +8 │ +(\d+) of \1 │ fine/);
    expect(stdout).toMatch(/main +│ steps +│ rowLock +│ +3 │ +(\d+) of \1 │ fine/);
    expect(stdout).not.toContain("advice");
    const { rows } = await database.query("SELECT 1 FROM app.email_jobs");
    expect(rows).toEqual([]);
  });

  test("82: names table, statement and the database's words for each that fails", async () => {
    const database = await describedDatabase();
    await database.query("ALTER TABLE steps RENAME COLUMN body TO text");
    const { code, stderr, stdout } = await intray(["check"], { url: database.url });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: \d+ problems in .*intray\.config\.ts\n$/);
    expect(stdout).toMatch(
      /^main: steps: the statement "claim" is refused: .*column i\.body does not exist/m,
    );
    expect(stdout).toMatch(/^main: steps: the statement "claim of every group" is refused: /m);
    expect(stdout).toMatch(/^main: steps: the statement "insert" is refused: .*"body"/m);
    expect(stdout).toContain('main: steps: the table has no column "body"');
    expect(stdout).not.toMatch(/^main: app\./m);
    expect(jsonError(await intray(["check", "--json"], { url: database.url }))).toMatchObject({
      code: 1,
      error: { code: "CHECK_FAILED" },
    });
  });

  test("82: compares types, nullability and who fills a column", async () => {
    const database = await describedDatabase();
    await database.query(`
      ALTER TABLE app.email_jobs ALTER attempt TYPE integer, ALTER last_error TYPE varchar(200),
        ALTER name DROP NOT NULL, ALTER due SET DEFAULT now(), ALTER due SET NOT NULL;
      ALTER TABLE app.failed_jobs ALTER id ADD GENERATED ALWAYS AS IDENTITY,
        ADD code integer NOT NULL;
      ALTER TABLE steps ALTER id DROP IDENTITY`);
    const [emails, failed, steps] = await problemsOf(database.url);
    const messages = emails?.problems.flatMap(({ message, statement }) =>
      statement === undefined ? [message] : [],
    );
    expect(messages).toEqual([
      'column "name" may be null in the database, and not in the description',
      'column "attempt" is integer in the database, and smallint in the description',
      'column "due" is never null in the database, and nullable in the description',
    ]);
    expect(failed?.problems).toContainEqual({
      column: "id",
      message: 'column "id" is written by the database alone: describe it with generatedAlways()',
    });
    expect(failed?.advice.map(({ message }) => message)).toEqual([
      'column "code" takes a value that the description does not have: inserts by it fail',
    ]);
    expect(steps?.problems).toEqual([]);
    expect(steps?.advice).toMatchObject([{ column: "id" }]);
  });

  test("82: an integer that is described as text is a difference, a domain is not", async () => {
    const database = await emptyDatabase();
    await database.query(`CREATE DOMAIN place AS text;
      CREATE TABLE t (id bigint PRIMARY KEY, a integer NOT NULL, b place NOT NULL)`);
    const folder = await folderWith({
      "intray.config.ts": `import { c, inboxTable } from ${INDEX};
        const T = inboxTable("t", { columns: { id: c.bigint().id(), a: c.text(), b: c.text() } });
        export default { databases: { one: { url: ${JSON.stringify(database.url)}, tables: [T] } } };`,
    });
    const { stdout } = await intray(["check", "--json"], { cwd: folder });
    const [table] = JSON.parse(stdout).databases[0].tables;
    expect(table.problems).toContainEqual({
      column: "a",
      message: 'column "a" is integer in the database, and text in the description',
    });
    expect(stdout).not.toContain('column \\"b\\"');
  });

  test("82: says that a table is missing, and that an index is", async () => {
    const database = await describedDatabase();
    await database.query("DROP TABLE app.failed_jobs; DROP INDEX steps_claim_idx");
    const { code, stdout } = await intray(["check"], { url: database.url });
    expect(code).toBe(1);
    expect(stdout).toContain(
      'main: app.failed_jobs: the database has no table app.failed_jobs: create it ("intray ddl" prints how)',
    );
    expect(stdout).toMatch(/^main: steps: advice: claims have no index .*CREATE INDEX/m);
    await database.query("CREATE TABLE app.failed_jobs (id bigint PRIMARY KEY)");
    await database.query("ALTER TABLE app.failed_jobs ADD was text, ADD reason text");
    await database.query("ALTER TABLE app.failed_jobs ADD payload bytea NOT NULL");
    expect(await intray(["check"], { url: database.url })).toMatchObject({ code: 0 });
  });

  test("82: --write saves what it learned, and --offline checks against it without a database", async () => {
    const { query, url } = await describedDatabase();
    const cwd = await configFolder();
    const file = join(cwd, "intray.schema.json");
    const first = await intray(["check", "--write"], { cwd, url });
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(/written: intray\.schema\.json\n$/);
    const text = await readFile(file, "utf8");
    const { tables } = JSON.parse(text).databases.main;
    expect(Object.keys(tables)).toEqual(["app.email_jobs", "app.failed_jobs", "steps"]);
    expect(Object.entries(tables["app.email_jobs"])).toEqual([
      ["attempt", { type: "smallint", nullable: false, generated: "byDefault" }],
      ["done", { type: "timestamp with time zone", nullable: true, generated: "never" }],
      ["due", { type: "timestamp with time zone", nullable: true, generated: "never" }],
      ["job_id", { type: "bigint", nullable: false, generated: "byDefault" }],
      ["last_error", { type: "text", nullable: true, generated: "never" }],
      ["locked_until", { type: "timestamp with time zone", nullable: true, generated: "never" }],
      ["name", { type: "text", nullable: false, generated: "never" }],
      ["payload", { type: "bytea", nullable: false, generated: "never" }],
    ]);
    // Columns in another order are the same table.
    await query(`ALTER TABLE app.failed_jobs DROP was; ALTER TABLE app.failed_jobs ADD was text`);
    await intray(["check", "--write", "intray.schema.json"], { cwd, url });
    expect(await readFile(file, "utf8")).toBe(text);
    expect(await intray(["check", "--offline"], { cwd })).toMatchObject({ code: 0, stderr: "" });

    await writeFile(
      file,
      text.replace('"type": "smallint"', '"type": "text"').replace(/"steps": \{/, '"stages": {'),
    );
    const differs = await intray(["check", "--offline"], { cwd });
    expect(differs.code).toBe(1);
    expect(differs.stdout).toContain(
      'main: app.email_jobs: column "attempt" is text in the database, and smallint in the description',
    );
    expect(differs.stdout).toContain("main: steps: the file has no table steps");
  });

  test("82: --write writes nothing where the check fails; --offline needs a file that is one", async () => {
    const { query, url } = await describedDatabase();
    await query("DROP TABLE steps");
    const cwd = await configFolder();
    const failed = await intray(["check", "--write"], { cwd, url });
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("nothing was written"),
    });
    const none = await intray(["check", "--offline"], { cwd });
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("intray check --write"),
    });
    for (const text of ["{", "[]", '{"version": 1}', '{"version":1,"databases":{"main":{}}}']) {
      await writeFile(join(cwd, "other.json"), text);
      const wrong = await intray(["check", "--offline", "other.json"], { cwd });
      expect(wrong).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("other.json is not"),
      });
    }
  });
});
