import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repository } from "../support/package.ts";
import { tsqlFaults } from "../support/tsql.ts";
import { FOLDER, intray } from "./described/described-database.ts";
import { folderWith, jsonError } from "./run-cli.ts";

const INDEX = JSON.stringify(join(repository, "src", "index.ts"));
const TABLES = JSON.stringify(join(FOLDER, "tables.ts"));

/** A table without any library, as a CommonJS file may have it. */
const PLAIN = `const id = { property: "id", name: "id", type: "bigint", nullable: false, generated: "byDefault", role: "id" };
const plain = { name: "plain", form: "rowLock", columns: [id], roles: { id }, fifo: "none", attemptFrom: 1, clock: "database" };`;

async function tables(folder: string, ...args: string[]): Promise<unknown> {
  const { code, stderr, stdout } = await intray(["ddl", "--json", ...args], { cwd: folder });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout).tables.map(({ table }: { table: string }) => table);
}

describe("82: the configuration", () => {
  test("is TypeScript, as projects write it, and is found upward", async () => {
    const folder = await folderWith({
      "intray.config.ts": `import type { Nothing } from "./nowhere.ts";
        import { c, inboxTable } from ${INDEX};
        import { name } from "./names";
        import { Kind } from "./kinds.js";
        class Named { constructor(readonly name: string) {} }
        const Jobs = inboxTable(new Named(name).name, { columns: { id: c.bigint().id() } });
        const config = { databases: { [Kind.Main]: { url: process.env.X!, tables: [Jobs] } } } satisfies object;
        export default config as unknown as Nothing;`,
      "names.ts": `export const name: string = "of_ts" as const;`,
      "kinds.ts": `export enum Kind { Main = "main" }`,
    });
    expect(await tables(folder)).toEqual(["of_ts"]);
    const inner = join(folder, "src", "deep");
    await mkdir(inner, { recursive: true });
    expect(await tables(inner)).toEqual(["of_ts"]);
  });

  test.each([
    ["intray.config.js", "export default"],
    ["intray.config.mjs", "export default"],
    ["intray.config.cjs", "module.exports ="],
    ["intray.config.mts", "export default"],
  ])("is %s", async (name, exports) => {
    const folder = await folderWith({
      "package.json": '{"type": "module"}',
      [name]: `${PLAIN}\n${exports} { databases: { main: { tables: [{ description: plain }] } } };`,
    });
    expect(await tables(folder)).toEqual(["plain"]);
  });

  test("in JavaScript may take its tables from TypeScript", async () => {
    const folder = await folderWith({
      "other.mjs": `import { EmailJobs, Steps } from ${TABLES};
        export default { databases: { main: { tables: [EmailJobs, Steps] } } };`,
    });
    expect(await tables(folder, "--config", "other.mjs")).toEqual(["app.email_jobs", "steps"]);
  });

  test("80: may bring a dialect of the service's own", async () => {
    const folder = await folderWith({
      "intray.config.ts": `import { postgresDialect } from ${INDEX};
        import { Steps } from ${TABLES};
        const dialect = { ...postgresDialect, name: "own", ddl: () => ["CREATE OWN"] };
        export default { databases: { main: { dialect, tables: [Steps] } } };`,
    });
    const { stdout } = await intray(["ddl", "--json"], { cwd: folder });
    expect(JSON.parse(stdout).tables).toEqual([
      { database: "main", table: "steps", dialect: "own", statements: ["CREATE OWN"] },
    ]);
  });

  test.each([
    ["postgres://h/x", "postgres"],
    ["mysql://h/x", "mysql"],
    ["MariaDB://h/x", "mysql"],
    ["sqlite:app.db", "sqlite"],
    ["file:app.db", "sqlite"],
    ["data/app.db", "sqlite"],
    ["", "postgres"],
  ])("takes the dialect from the URL %s", async (url, dialect) => {
    const folder = await folderWith({
      "intray.config.cjs": `${PLAIN}
        module.exports = { databases: { main: { url: ${JSON.stringify(url)}, tables: [{ description: plain }] } } };`,
    });
    const { stdout } = await intray(["ddl", "--json"], { cwd: folder });
    expect(JSON.parse(stdout).tables).toMatchObject([{ dialect }]);
  });

  test("may import what keeps a process alive", async () => {
    const folder = await folderWith({
      "intray.config.cjs": `${PLAIN}\nsetInterval(() => {}, 1000);
        module.exports = { databases: { main: { tables: [{ description: plain }] } } };`,
    });
    expect(await tables(folder)).toEqual(["plain"]);
  });

  test("says where it was looked for", async () => {
    const folder = await folderWith();
    const { code, stderr } = await intray(["check"], { cwd: folder });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: there is no configuration: looked for intray\.config\.ts, /);
    expect(stderr).toContain(folder);
    expect(stderr).toContain("--config");
    const named = await intray(["check", "--config", "nowhere.ts"], { cwd: folder });
    expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining("nowhere.ts") });
  });

  test.each([
    ["export const x = 1;", /no default export: write export default defineConfig/],
    ["export default 4;", /default export takes an object.*not 4/],
    ["export default {};", /databases takes an object with a name for each database/],
    ["export default { database: {} };", /no option "database"; there are databases/],
    ["export default { databases: { main: { tables: [] } } };", /databases\.main\.tables .*empty/],
    [
      "export default { databases: { main: { url: 4, tables: [1] } } };",
      /databases\.main\.url takes a URL as text, not 4/,
    ],
    [
      'export default { databases: { main: { tables: ["jobs"] } } };',
      /databases\.main\.tables\[0\] is no described table: .*inboxTable\(\) made, not "jobs"/,
    ],
    [
      `import { EmailJobs } from ${TABLES};
      export default { databases: { main: { tables: [EmailJobs, EmailJobs.queue("x")] } } };`,
      /databases\.main\.tables\[1\] is a queue: it takes the table itself/,
    ],
    [
      `import { EmailJobs } from ${TABLES};
      export default { databases: { main: { dialect: "oracle", tables: [EmailJobs] } } };`,
      /there is no dialect "oracle" here; there are postgres/,
    ],
    [
      `import { EmailJobs } from ${TABLES};
      export default { databases: { main: { tables: [EmailJobs], deadLetters: ["x"] } } };`,
      /databases\.main\.deadLetters\[0\] takes a queue or a described table, not "x"/,
    ],
    [
      `import { EmailJobs } from ${TABLES};
      const url = "mysql://app:hunter2@h/x";
      export default { databases: { main: { url, dialect: "postgres", tables: [EmailJobs] } } };`,
      /databases\.main\.dialect is "postgres", and databases\.main\.url is of mysql: leave the dialect out/,
    ],
    ['throw new Error("no secrets here");', /cannot be loaded: Error: no secrets here/],
    ["export default {", /cannot be loaded: .*SyntaxError/],
    ['import "./nowhere.ts"; export default {};', /cannot be loaded: .*nowhere\.ts/],
    [
      `import { c, inboxTable } from ${INDEX};
      export default { databases: { main: { tables: [inboxTable("a.b", { columns: {} })] } } };`,
      /cannot be loaded: TableError: /,
    ],
  ])("is refused: %s", async (text, message) => {
    const folder = await folderWith({ "intray.config.ts": text });
    const result = await intray(["ddl"], { cwd: folder });
    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(message);
    expect(result.stderr).toContain(join(folder, "intray.config.ts"));
    expect(result.stderr).not.toMatch(/\n {4}at /);
  });

  test("is refused as JSON", async () => {
    const folder = await folderWith({ "intray.config.js": "module.exports = {};" });
    expect(jsonError(await intray(["check", "--json"], { cwd: folder }))).toMatchObject({
      code: 2,
      error: { code: "CONFIG", message: expect.stringContaining("databases takes") },
    });
  });

  test("needs a URL where a command connects, and never repeats one that is wrong", async () => {
    const { code, stderr } = await intray(["check"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/intray\.config\.ts: databases\.main has no url; .*not set/);
    for (const url of ["oracle://root:hunter2@h/x", "root:hunter2@h/x", "mysql:hunter2"]) {
      const wrong = await intray(["status"], { url });
      expect(wrong.code).toBe(2);
      expect(wrong.stderr).toMatch(
        /databases\.main\.url takes postgres:\/\/, .*mysql:\/\/, .* or the path of an SQLite file/,
      );
      expect(wrong.stderr).not.toContain("hunter2");
    }
    const silent = await intray(["status"], { url: "postgres://app:hunter2@127.0.0.1:1/x" });
    expect(silent.code).toBe(1);
    expect(silent.stderr).toMatch(/^error: cannot connect to postgres:\/\/\*\*\*@127\.0\.0\.1:1/);
  });
});

const COMMANDS = [
  ["check"],
  ["ddl"],
  ["status"],
  ["purge"],
  ["dead", "list"],
  ["dead", "show"],
  ["dead", "retry"],
  ["dead", "purge"],
];

describe("the commands on described tables", () => {
  test.each(COMMANDS)("%s %s says in its help what it takes", async (...command) => {
    const { code, stderr, stdout } = await intray([...command.filter(Boolean), "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("--json");
    expect(stdout).toContain("--config");
    expect(stdout).toMatch(/Examples:\n {2}intray /);
    expect(stdout).toMatch(/Exit codes:\n {2}0 {2}fine\n {2}1 {2}failed.*\n {2}2 {2}wrong usage/);
  });

  test.each([
    [["check", "--database", "nope"], /has no database nope; there are main/],
    [["check", "--write", "--offline"], /leave --offline and --database out/],
    [
      ["ddl", "nope"],
      /describes no table nope; there are app\.email_jobs, app\.failed_jobs, steps/,
    ],
    [["ddl", "--dialect", "oracle"], /--dialect: there is no dialect "oracle"/],
    [["dead", "list"], /which table\? .* main: app\.email_jobs, /],
    [["dead", "list", "--table", "failed_jobs", "--group", "x"], /has no groups/],
    [["dead", "show", "--table", "steps"], /takes the id of one row/],
    [["dead", "purge", "--table", "steps"], /--id <id> for single rows, or --all/],
    [["dead", "retry", "--table", "steps", "--all"], /takes --to <group>, --to-table/],
    [["purge", "--table", "email_jobs"], /--older-than/],
    [["purge", "--table", "email_jobs", "--older-than", "7d"], /give --yes/],
  ])("%s is wrong usage", async (args, message) => {
    const result = await intray(args, { url: "postgres://127.0.0.1:1/x" });
    expect(result.stderr).toMatch(message);
    expect(result.code).toBe(2);
  });

  test("ddl prints what psql takes, for all tables or those that are named", async () => {
    const all = await intray(["ddl"]);
    expect(all.stdout).toContain('CREATE TABLE IF NOT EXISTS "app"."email_jobs" (');
    expect(all.stdout).toContain('CREATE TABLE IF NOT EXISTS "steps" (');
    expect(all.stdout).not.toContain("TRIGGER");
    const one = await intray(["ddl", "email_jobs", "--listen-notify"]);
    expect(one.stdout).toContain('CREATE TRIGGER "email_jobs_notify"');
    expect(one.stdout).not.toContain("steps");
  });

  test("ddl prints what sqlcmd takes, for SQL Server", async () => {
    const { code, stdout } = await intray(["ddl", "email_jobs", "--dialect", "sqlserver"]);
    expect(code).toBe(0);
    expect(stdout).toContain("IF OBJECT_ID(N'[app].[email_jobs]', N'U') IS NULL");
    expect(stdout).toContain("CREATE TABLE [app].[email_jobs] (");
    expect(tsqlFaults(stdout)).toEqual([]);
  });
});
