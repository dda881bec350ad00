import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOn } from "../support/databases.ts";
import { repository } from "../support/package.ts";
import {
  type Database,
  type DescribedKind,
  FOLDER,
  forEachDatabase,
  intray,
  prepares,
} from "./described/described-database.ts";
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

/** The same tables, and nobody there. */
function nowhere({ kind, schema }: Database): string {
  if (kind.name === "sqlite") return "sqlite:nowhere.db";
  return `${kind.dialect.name}://127.0.0.1:1/${kind.name === "postgres" ? "x" : schema}`;
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

forEachDatabase("82: intray check", (kind) => {
  test("82: takes what ddl makes, from a configuration in TypeScript, and runs nothing", async () => {
    const { query, schema, url } = await kind.described();
    const { code, stderr, stdout } = await intray(["check"], { url });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`${schema}.email_jobs`);
    expect(stdout).toMatch(/main +│ \S+\.email_jobs +│ lease +│ +8 │ +(\d+) of \1 │ fine/);
    expect(stdout).toMatch(/main +│ steps +│ (rowLock|lease) +│ +[34] │ +(\d+) of \2 │ fine/);
    expect(stdout).not.toContain("advice");
    const { rows } = await query(`SELECT 1 FROM ${schema}.email_jobs`);
    expect(rows).toEqual([]);
  });

  test("82: names table, statement and the database's words for each that fails", async () => {
    const database = await kind.described();
    await database.query(
      kind.name === "sqlserver"
        ? "EXEC sp_rename 'steps.body', 'text', 'COLUMN'"
        : "ALTER TABLE steps RENAME COLUMN body TO text",
    );
    const { code, stderr, stdout } = await intray(["check"], { url: database.url });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: \d+ problems in .*intray\.config\.ts\n$/);
    if (await prepares(database)) {
      expect(stdout).toMatch(
        /^main: steps: the statement "claim" is refused: .*(column i\.body does not exist|Unknown column 'i\.body'|no such column: body|Invalid column name 'body')/m,
      );
      expect(stdout).toMatch(/^main: steps: the statement "claim of every group" is refused: /m);
      expect(stdout).toMatch(/^main: steps: the statement "insert" is refused: .*\bbody\b/m);
    }
    expect(stdout).toContain('main: steps: the table has no column "body"');
    expect(stdout).not.toMatch(/^main: \S+\.\w+_jobs/m);
    expect(jsonError(await intray(["check", "--json"], { url: database.url }))).toMatchObject({
      code: 1,
      error: { code: "CHECK_FAILED" },
    });
  });

  test("82: compares types, nullability and who fills a column", async () => {
    const database = await kind.described();
    const { alter, attempt, generated } = DIFFERENCES[kind.dialect.name] ?? {};
    for (const text of alter?.(database.schema) ?? []) await database.query(text);
    const [emails, failed, steps] = await problemsOf(database.url);
    const messages = emails?.problems.flatMap(({ message, statement }) =>
      statement === undefined ? [message] : [],
    );
    expect(messages).toEqual([
      'column "name" may be null in the database, and not in the description',
      `column "attempt" is ${attempt} in the database, and smallint in the description`,
      'column "due" is never null in the database, and nullable in the description',
    ]);
    expect(failed?.problems).toContainEqual({
      column: generated,
      message: `column "${generated}" is written by the database alone: describe it with generatedAlways()`,
    });
    expect(failed?.advice.map(({ message }) => message)).toEqual([
      'column "code" takes a value that the description does not have: inserts by it fail',
    ]);
    expect(steps?.problems).toEqual([]);
    expect(steps?.advice).toMatchObject([{ column: "id" }]);
  });

  test("82: says that a table is missing, and that an index is", async () => {
    const { query, schema, url } = await kind.described();
    await query(`DROP TABLE ${schema}.failed_jobs`);
    for (const index of await indexesOf(kind, query)) {
      const isNamedByTable = ["mysql", "sqlserver"].includes(kind.dialect.name);
      await query(`DROP INDEX ${index}${isNamedByTable ? " ON steps" : ""}`);
    }
    const { code, stdout } = await intray(["check"], { url });
    expect(code).toBe(1);
    expect(stdout).toContain(
      `main: ${schema}.failed_jobs: the database has no table ${schema}.failed_jobs: create it ("intray ddl" prints how)`,
    );
    expect(stdout).toMatch(/^main: steps: advice: claims have no index .*CREATE INDEX/m);
    const { types } = kind.dialect;
    await query(`CREATE TABLE ${schema}.failed_jobs (id ${types.bigint.ddl} PRIMARY KEY,
      was ${types.text.ddl}, reason ${types.text.ddl}, held ${types.timestamp.ddl},
      payload ${types.bytes.ddl} NOT NULL)`);
    expect(await intray(["check"], { url })).toMatchObject({ code: 0 });
  });

  test("82: --write saves what it learned, and --offline checks against it without a database", async () => {
    const database = await kind.described();
    const { query, schema, url } = database;
    const label = `${schema}.email_jobs`;
    const cwd = await configFolder();
    const file = join(cwd, "intray.schema.json");
    const first = await intray(["check", "--write"], { cwd, url });
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(/written: intray\.schema\.json\n$/);
    const text = await readFile(file, "utf8");
    const { tables } = JSON.parse(text).databases.main;
    expect(Object.keys(tables)).toEqual([label, `${schema}.failed_jobs`, "steps"]);
    expect(Object.entries(tables[label])).toEqual(
      Object.entries(COLUMNS).map(([column, [type, nullable, generated]]) => [
        column,
        { type: TYPES[kind.dialect.name]?.[type], nullable, generated },
      ]),
    );
    // Columns in another order are the same table.
    const ddl = kind.dialect.name === "mysql" ? "LONGTEXT" : kind.dialect.types.text.ddl;
    await query(`ALTER TABLE ${schema}.failed_jobs DROP COLUMN was`);
    const added = kind.name === "sqlserver" ? "ADD" : "ADD COLUMN";
    await query(`ALTER TABLE ${schema}.failed_jobs ${added} was ${ddl}`);
    await intray(["check", "--write", "intray.schema.json"], { cwd, url });
    expect(await readFile(file, "utf8")).toBe(text);
    const offline = { cwd, url: nowhere(database) };
    expect(await intray(["check", "--offline"], offline)).toMatchObject({ code: 0, stderr: "" });

    tables[label].attempt.type = "text";
    const { steps: stages, ...others } = tables;
    const changed = { version: 1, databases: { main: { tables: { ...others, stages } } } };
    await writeFile(file, JSON.stringify(changed));
    const differs = await intray(["check", "--offline"], offline);
    expect(differs.code).toBe(1);
    expect(differs.stdout).toContain(
      `main: ${label}: column "attempt" is text in the database, and smallint in the description`,
    );
    expect(differs.stdout).toContain("main: steps: the file has no table steps");
  });

  test("82: --write writes nothing where the check fails; --offline needs a file that is one", async () => {
    const { query, url } = await kind.described();
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

interface Differences {
  alter(schema: string): readonly string[];
  /** The type that the attempt has then. */
  readonly attempt: string;
  /** The column that the database writes alone then. */
  readonly generated: string;
}

/** The described tables made other than described. */
const DIFFERENCES: Readonly<Record<string, Differences>> = {
  postgres: {
    alter: () => [
      `ALTER TABLE app.email_jobs ALTER attempt TYPE integer, ALTER last_error TYPE varchar(200),
        ALTER name DROP NOT NULL, ALTER due SET DEFAULT now(), ALTER due SET NOT NULL`,
      `ALTER TABLE app.failed_jobs ALTER id ADD GENERATED ALWAYS AS IDENTITY,
        ADD code integer NOT NULL`,
      "ALTER TABLE steps ALTER id DROP IDENTITY",
    ],
    attempt: "integer",
    generated: "id",
  },
  mysql: {
    alter: () => [
      `ALTER TABLE email_jobs MODIFY attempt VARCHAR(20) NOT NULL DEFAULT '1',
        MODIFY last_error MEDIUMTEXT, MODIFY name VARCHAR(255),
        MODIFY due DATETIME(6) NOT NULL DEFAULT '2026-01-01'`,
      `ALTER TABLE failed_jobs DROP COLUMN reason`,
      `ALTER TABLE failed_jobs ADD COLUMN reason VARCHAR(255) GENERATED ALWAYS AS (was) VIRTUAL,
        ADD COLUMN code INT NOT NULL`,
      "ALTER TABLE steps MODIFY id BIGINT NOT NULL",
    ],
    attempt: "varchar(20)",
    generated: "reason",
  },
  sqlite: {
    alter: () => [
      "DROP TABLE email_jobs; DROP TABLE failed_jobs; DROP TABLE steps",
      `CREATE TABLE email_jobs (job_id INTEGER PRIMARY KEY, name TEXT, attempt TEXT NOT NULL DEFAULT 1,
        due TEXT NOT NULL DEFAULT '', locked_until TEXT, done TEXT, last_error VARCHAR(200),
        payload BLOB NOT NULL)`,
      `CREATE TABLE failed_jobs (id INT PRIMARY KEY, was TEXT, reason TEXT GENERATED ALWAYS AS (was),
        payload BLOB NOT NULL, held TEXT, code INTEGER NOT NULL)`,
      // No alias of the row's own number, so nobody fills it.
      "CREATE TABLE steps (id BIGINT NOT NULL PRIMARY KEY, run TEXT NOT NULL, body TEXT NOT NULL, held TEXT)",
      `CREATE INDEX steps_claim ON steps (run, id);
        CREATE INDEX steps_lease ON steps (run, held) WHERE held IS NOT NULL`,
    ],
    attempt: "TEXT",
    generated: "reason",
  },
  sqlserver: {
    alter: () => [
      "DROP TABLE app.email_jobs; DROP TABLE app.failed_jobs; DROP TABLE steps",
      `CREATE TABLE app.email_jobs (job_id bigint IDENTITY PRIMARY KEY, name nvarchar(255) NULL,
        attempt nvarchar(20) NOT NULL DEFAULT N'1', due datetime2(7) NOT NULL DEFAULT SYSUTCDATETIME(),
        locked_until datetime2(7), done datetime2(7), last_error nvarchar(200), payload varbinary(max) NOT NULL)`,
      `CREATE TABLE app.failed_jobs (id bigint NOT NULL PRIMARY KEY, was nvarchar(50), reason AS (was),
        payload varbinary(max) NOT NULL, code int NOT NULL)`,
      // No identity, so nobody fills it.
      "CREATE TABLE steps (id bigint NOT NULL PRIMARY KEY, run nvarchar(255) NOT NULL, body nvarchar(max) NOT NULL)",
      "CREATE INDEX steps_claim ON steps (run, id)",
    ],
    attempt: "nvarchar(20)",
    generated: "reason",
  },
};

const COLUMNS = {
  attempt: ["smallint", false, "byDefault"],
  done: ["timestamp", true, "never"],
  due: ["timestamp", true, "never"],
  job_id: ["bigint", false, "byDefault"],
  last_error: ["text", true, "never"],
  locked_until: ["timestamp", true, "never"],
  name: ["name", false, "never"],
  payload: ["bytes", false, "never"],
} as const;

const TYPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  postgres: {
    smallint: "smallint",
    timestamp: "timestamp with time zone",
    bigint: "bigint",
    text: "text",
    name: "text",
    bytes: "bytea",
  },
  mysql: {
    smallint: expect.stringMatching(/^smallint(\(6\))?$/),
    timestamp: "datetime(6)",
    bigint: expect.stringMatching(/^bigint(\(20\))?$/),
    text: "longtext",
    // Of an index.
    name: "varchar(255)",
    bytes: "longblob",
  },
  sqlite: {
    smallint: "INTEGER",
    timestamp: "TEXT",
    bigint: "INTEGER",
    text: "TEXT",
    name: "TEXT",
    bytes: "BLOB",
  },
  sqlserver: {
    smallint: "smallint",
    timestamp: "datetime2(7)",
    bigint: "bigint",
    text: "nvarchar(max)",
    name: "nvarchar(255)",
    bytes: "varbinary(max)",
  },
};

/** Of the table `steps`, but for that of its key. */
async function indexesOf(kind: DescribedKind, query: Database["query"]): Promise<string[]> {
  const { rows } = await query<{ name: string }>(
    {
      postgres: "SELECT indexname AS name FROM pg_indexes WHERE tablename = 'steps'",
      mysql: `SELECT DISTINCT INDEX_NAME AS name FROM information_schema.STATISTICS
        WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'steps'`,
      sqlite: "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'steps'",
      sqlserver: `SELECT name FROM sys.indexes
        WHERE object_id = OBJECT_ID(N'steps') AND is_primary_key = 0 AND name IS NOT NULL`,
    }[kind.dialect.name] ?? "",
  );
  const names = rows.map(({ name }) => name).filter((name) => !/pkey|PRIMARY|autoindex/.test(name));
  expect(names).not.toEqual([]);
  return names;
}

describeOn("postgres", "82: types that PostgreSQL does not come with", () => {
  test("an integer that is described as text is a difference, a domain is not", async () => {
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
});
