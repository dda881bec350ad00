import { existsSync } from "node:fs";
import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "libsql";
import { describe, expect, test } from "vitest";
import { repository } from "../support/package.ts";
import { forEachDatabase, intray } from "./described/described-database.ts";
import { CLI, Cli, type CliResult, folderWith, jsonError } from "./run-cli.ts";

/** A leased table and one for dead letters, without any library. */
const CONFIG = `
  const column = (name, type, rest) => ({ property: name, name, type, nullable: false, generated: "never", ...rest });
  const id = column("id", "bigint", { generated: "byDefault", role: "id" });
  const until = column("until", "timestamp", { nullable: true, role: "lockedUntil" });
  const why = column("why", "text", { nullable: true });
  const table = (name, form, columns, roles) =>
    ({ description: { name, form, columns, roles, fifo: "none", attemptFrom: 1, clock: "database" } });
  const jobs = table("jobs", "lease", [id, until], { id, lockedUntil: until });
  const failed = table("failed", "rowLock", [id, why], { id });
  module.exports = { databases: { main: {
    url: process.env.DATABASE_URL, tables: [jobs, failed], deadLetters: [failed] } } };`;

/** A project of its own: the command line, and of the drivers those that are named. */
async function project(...drivers: readonly string[]): Promise<string> {
  const folder = await folderWith({ "intray.config.cjs": CONFIG });
  await copyFile(CLI, join(folder, "cli.mjs"));
  await mkdir(join(folder, "node_modules"));
  for (const name of drivers) {
    await symlink(join(repository, "node_modules", name), join(folder, "node_modules", name));
  }
  return folder;
}

function run(folder: string, url: string, ...args: readonly string[]): Promise<CliResult> {
  return new Cli(args, { entry: join(folder, "cli.mjs"), cwd: folder, url }).ended;
}

/** A file with the configuration's tables, in the mode that SQLite gives it. */
function createFile(path: string): void {
  const db = new Database(path);
  db.exec(`CREATE TABLE jobs (id INTEGER PRIMARY KEY, until TEXT);
    CREATE TABLE failed (id INTEGER PRIMARY KEY, why TEXT); INSERT INTO jobs DEFAULT VALUES`);
  db.close();
}

const hasNodeSqlite = process.getBuiltinModule?.("node:sqlite") !== undefined;

describe("the driver", () => {
  test.each([
    ["postgres://localhost/x", /no PostgreSQL driver here: npm install pg/],
    [
      "mysql://localhost/x",
      /no driver of MySQL or MariaDB here: npm install mysql2 \(or mariadb\)/,
    ],
    ["mariadb://localhost/x", /npm install mysql2 \(or mariadb\)/],
    ["mssql://localhost/x", /no driver of SQL Server here: npm install mssql/],
    ["sqlserver://localhost/x", /no driver of SQL Server here: npm install mssql/],
    ["Server=localhost;Database=x", /no driver of SQL Server here: npm install mssql/],
  ])("of %s is missing", async (url, message) => {
    const folder = await project();
    expect(jsonError(await run(folder, url, "status", "--json"))).toEqual({
      code: 1,
      error: { code: "NO_DRIVER", message: expect.stringMatching(message) },
    });
  });

  test("of SQLite is missing, but where Node has one", async () => {
    const folder = await project();
    createFile(join(folder, "app.db"));
    const result = await run(folder, "app.db", "status", "--json");
    if (hasNodeSqlite) {
      expect(result).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.parse(result.stdout).groups).toMatchObject([{ table: "jobs", waiting: 1 }, {}]);
    } else {
      expect(jsonError(result)).toEqual({
        code: 1,
        error: {
          code: "NO_DRIVER",
          message: expect.stringMatching(/npm install better-sqlite3 \(or libsql\), or .*Node 22/),
        },
      });
    }
  });

  test("that does not work is told where there is no other", async () => {
    const folder = await project("libsql");
    createFile(join(folder, "app.db"));
    const broken = join(folder, "node_modules", "better-sqlite3");
    await mkdir(broken);
    await writeFile(
      join(broken, "index.js"),
      "module.exports = class { constructor() { throw new Error('built for another Node'); } };",
    );
    expect(await run(folder, "app.db", "status")).toMatchObject({ code: 0 });
    if (hasNodeSqlite) return;
    await writeFile(join(folder, "package.json"), "{}");
    const alone = await project();
    createFile(join(alone, "app.db"));
    await mkdir(join(alone, "node_modules", "better-sqlite3"));
    await copyFile(
      join(broken, "index.js"),
      join(alone, "node_modules", "better-sqlite3", "index.js"),
    );
    const { code, stderr } = await run(alone, "app.db", "status");
    expect(code).toBe(1);
    expect(stderr).toMatch(/no SQLite driver here: .*\(Error: built for another Node\)/);
  });
});

describe("an SQLite file", () => {
  test.each([
    ["sqlite:data/the app.db"],
    ["sqlite://data/the app.db"],
    ["file:data/the%20app.db?mode=rw"],
    ["data/the app.db"],
    ["./data/the app.db"],
  ])("is %s from the configuration's folder, and keeps its mode", async (url) => {
    const folder = await project("libsql");
    await mkdir(join(folder, "data"));
    const path = join(folder, "data", "the app.db");
    createFile(path);
    const options = { entry: join(folder, "cli.mjs"), cwd: join(folder, "data"), url };
    for (const args of [["check"], ["status"], ["dead", "purge", "--all", "--yes"]]) {
      expect(await new Cli(args, options).ended).toMatchObject({ code: 0, stderr: "" });
    }
    const db = new Database(path);
    expect(db.prepare("PRAGMA journal_mode").all()).toEqual([{ journal_mode: "delete" }]);
    db.close();
    expect(
      await intray(["status"], { cwd: folder, url: `file://${path.replace(" ", "%20")}` }),
    ).toMatchObject({ code: 0 });
    expect(await intray(["status"], { cwd: folder, url: `sqlite://${path}` })).toMatchObject({
      code: 0,
    });
  });

  test.each([
    [["check"]],
    [["status"]],
    [["dead", "list"]],
    [["purge", "--table", "jobs", "--older-than", "1d", "--yes"]],
  ])("that is not there is not created by %s", async (args) => {
    const folder = await project("libsql");
    for (const url of ["sqlite:none.db", "none.db", "file:none.db"]) {
      const result = jsonError(await run(folder, url, ...args, "--json"));
      const message = expect.stringContaining(`there is no file ${join(folder, "none.db")}: `);
      expect(result).toEqual({ code: 1, error: { code: "NO_FILE", message } });
    }
    expect(existsSync(join(folder, "none.db"))).toBe(false);
  });

  test("that is a folder, no database, or memory, is refused", async () => {
    const folder = await project("libsql");
    await writeFile(
      join(folder, "text.db"),
      "this is no database at all, but a text of some length. ".repeat(30),
    );
    expect(await run(folder, "sqlite:node_modules", "status")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there is no file"),
    });
    expect(await run(folder, "text.db", "status")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: cannot connect to \S+text\.db: .*not a database/),
    });
    for (const url of ["sqlite::memory:", ":memory:", "file::memory:", "file:x?mode=memory"]) {
      expect(await run(folder, url, "status")).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/is a database in memory, .* give a file/),
      });
    }
  });

  test("takes dead letters in a table that no subscription could read", async () => {
    const folder = await project("libsql");
    createFile(join(folder, "app.db"));
    const { code, stdout } = await run(folder, "app.db", "check");
    expect(code).toBe(0);
    expect(stdout).toMatch(/failed +│ rowLock +│ +2 │ +1 of 1 │ fine/);
    const config = CONFIG.replace("deadLetters: [failed]", "deadLetters: []");
    await writeFile(join(folder, "intray.config.cjs"), config);
    expect(await run(folder, "app.db", "check")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        "main: failed: TableError: failed: rows are held by row lock",
      ),
    });
  });
});

forEachDatabase("a server", ({ empty, name }) => {
  test.runIf(name === "mariadb" || name === "mysql").each([
    ["mysql2", "mysql://"],
    ["mysql2", "mariadb://"],
    ["mariadb", "mysql://"],
    ["mariadb", "mariadb://"],
  ])("is reached through %s by a URL with %s, in UTC", async (driver, scheme) => {
    const { query, url } = await empty();
    await query(`CREATE TABLE jobs (id BIGINT AUTO_INCREMENT PRIMARY KEY, until DATETIME(6))`);
    await query(`CREATE TABLE failed (id BIGINT AUTO_INCREMENT PRIMARY KEY, why LONGTEXT)`);
    await query(`CREATE TABLE seen (zone VARCHAR(50))`);
    await query(`CREATE TRIGGER seen BEFORE DELETE ON failed FOR EACH ROW
      INSERT INTO seen VALUES (@@session.time_zone)`);
    await query("INSERT INTO failed VALUES (7, 'late')");
    const folder = await project(driver);
    const at = url.replace(/^\w+:\/\//, scheme);
    expect(await run(folder, at, "check")).toMatchObject({ code: 0, stderr: "" });
    const purged = await run(folder, at, "dead", "purge", "--id", "7", "--yes", "--json");
    expect(JSON.parse(purged.stdout)).toMatchObject({ purged: 1, ids: ["7"] });
    expect((await query("SELECT zone FROM seen")).rows).toEqual([{ zone: "+00:00" }]);
  });

  test.runIf(name === "mariadb" || name === "mysql").each([["mysql2"], ["mariadb"]])(
    "that does not answer, or refuses, is told of by %s without secrets",
    async (driver) => {
      const { url } = await empty();
      const folder = await project(driver);
      const silent = await run(
        folder,
        "mysql://app:hunter2@127.0.0.1:1/shop?password=hunter3",
        "status",
      );
      expect(silent.code).toBe(1);
      expect(silent.stderr).toMatch(
        /^error: cannot connect to mysql:\/\/\*\*\*@127\.0\.0\.1:1\/shop/,
      );
      expect(silent.stderr).toContain("ECONNREFUSED");
      const refusing = new URL(url);
      refusing.username = "nobody";
      refusing.password = "hunter2";
      // That driver sends MySQL no password without TLS, unless it may ask for the server's key.
      if (name === "mysql" && driver === "mariadb")
        refusing.search = "allowPublicKeyRetrieval=true";
      const refused = await run(folder, refusing.href, "status");
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/Access denied/) });
      const wrong = await run(folder, "mysql://app:hunter2@127.0.0.1:port/shop", "status");
      expect(wrong.code).toBe(1);
      for (const { stderr } of [silent, refused, wrong]) {
        expect(stderr).toMatch(/^error: cannot connect to .*\n$/);
        expect(stderr).not.toMatch(/hunter|\n {4}at /);
      }
    },
  );
});
