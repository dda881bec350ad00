import { describe, expect, test } from "vitest";
import { describeOn } from "../support/databases.ts";
import { tsqlFaults } from "../support/tsql.ts";
import { emptyDatabase } from "./inbox-database.ts";
import { folderWith, jsonError, queuebox } from "./run-cli.ts";

const MAP = JSON.stringify({ table: "app.letters", payload: "body", id: "letter$1" });

describe("intray queuebox ddl", () => {
  test("prints SQL Server's, which is T-SQL, and has no notifications there", async () => {
    const folder = await folderWith({ "map.json": MAP });
    const schema = ["--schema", `${folder}/map.json`];
    const args = ["ddl", "--dialect", "sqlserver", "--extra-indexes", ...schema];
    const { code, stdout, stderr } = await queuebox(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(tsqlFaults(stdout, 0)).toEqual([]);
    expect(stdout).toContain("CREATE TABLE [app].[letters]");
    expect(stdout).toContain("CREATE INDEX [letters_aggregate_due_idx]");
    const json = await queuebox([...args, "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ dialect: "sqlserver" });
    expect(JSON.parse(json.stdout).statements).toHaveLength(5);
    expect(jsonError(await queuebox([...args, "--listen-notify", "--json"]))).toEqual({
      code: 2,
      error: { code: "USAGE", message: expect.stringContaining("--listen-notify takes") },
    });
  });

  test("prints the statements as JSON", async () => {
    const { code, stdout } = await queuebox(["ddl", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      dialect: "postgresql",
      statements: expect.arrayContaining([
        expect.stringMatching(/^CREATE TABLE IF NOT EXISTS "inbox"/),
      ]),
    });
  });

  describeOn("postgres", "on PostgreSQL", () => {
    test("prints a script that makes the table, and that can run again", async () => {
      const database = await emptyDatabase();
      const { code, stdout, stderr } = await queuebox(["ddl", "--dialect", "postgresql"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      await database.query(stdout);
      await database.query(stdout);
      expect(await queuebox(["status"], { url: database.url })).toMatchObject({ code: 0 });
    });

    test("follows a schema map, and adds indexes and the trigger where asked", async () => {
      const database = await emptyDatabase();
      await database.query("CREATE SCHEMA app");
      const folder = await folderWith({ "map.json": MAP });
      const schema = ["--schema", `${folder}/map.json`];
      const extras = ["--extra-indexes", "--listen-notify"];
      const { stdout } = await queuebox(["ddl", ...schema, ...extras]);
      await database.query(stdout);
      const found = await database.query<{ name: string }>(
        `SELECT indexname AS name FROM pg_indexes WHERE schemaname = 'app'
        UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = 'app.letters'::regclass`,
      );
      const names = found.rows.map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining(["letters_aggregate_due_idx", "letters_notify"]),
      );
      const status = await queuebox(["status", ...schema], { url: database.url });
      expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining("app.letters") });
    });
  });
});
