import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defaultSchema, inboxSql } from "../../src/queuebox/index.ts";
import { tsqlFaults } from "../support/tsql.ts";
import { folderWith, queuebox } from "./run-cli.ts";

const PARAMETERS = {
  claim: ["source", "batch", "lease_ms", "cand_limit"],
  renew: ["lease_ms", "id", "token"],
  complete: ["id", "token"],
  retry: ["delay_ms", "error", "id", "token"],
  dead: ["error", "id", "token"],
};

describe("intray queuebox sql", () => {
  test("writes the five files, with names for parameters and the casts whole", async () => {
    const folder = join(await folderWith(), "sql", "inbox");
    const { code, stdout } = await queuebox(["sql", "--dialect", "postgresql", "--out", folder]);
    expect(code).toBe(0);
    const files = Object.keys(PARAMETERS).map((name) => join(folder, `${name}.sql`));
    expect(stdout.trim().split("\n")).toEqual(files);
    expect((await readdir(folder)).length).toBe(5);
    for (const [name, params] of Object.entries(PARAMETERS)) {
      const text = await readFile(join(folder, `${name}.sql`), "utf8");
      const found = [...text.matchAll(/(?<!:):([a-z_]+)/g)].map(([, parameter]) => parameter);
      expect(new Set(found)).toEqual(new Set(params));
      expect(text).not.toMatch(/\$\d/);
      expect(text.trimEnd()).toMatch(/;$/);
    }
    expect(await readFile(join(folder, "claim.sql"), "utf8")).toContain("::text");
  });

  test("writes SQL Server's, which are T-SQL once the parameters are bound by their names", async () => {
    const folder = join(await folderWith(), "sql");
    const { code, stdout } = await queuebox(["sql", "--dialect", "sqlserver", "--out", folder]);
    expect(code).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(5);
    for (const [name, params] of Object.entries(PARAMETERS)) {
      const text = await readFile(join(folder, `${name}.sql`), "utf8");
      expect(text).not.toMatch(/@p\d/);
      const bound = text.replace(/(?<!:):([a-z_]+)/g, "@$1");
      const names = params.map((param) => `@${param}`);
      // A driver declares what it binds, so a variable of that name in the text would be there twice.
      const declared = `DECLARE ${names.map((each) => `${each} nvarchar(max)`).join(", ")};\n`;
      expect(tsqlFaults(declared + bound, 0)).toEqual([]);
      for (const each of names) expect(bound).toContain(each);
      expect(text).toMatch(/[^;];\n$/);
    }
  });

  test("prints what inboxSql answers, but for the names", async () => {
    const { stdout } = await queuebox(["sql", "--json"]);
    const { statements } = JSON.parse(stdout);
    const published = inboxSql("postgresql", defaultSchema);
    for (const name of ["claim", "renew", "complete", "retry", "dead"] as const) {
      expect(statements[name].params).toEqual(PARAMETERS[name]);
      const positional = String(statements[name].text).replace(
        /(?<!:):([a-z_]+)( (?=::))?/g,
        (_, parameter: string) => {
          return `$${(PARAMETERS[name] as string[]).indexOf(parameter) + 1}`;
        },
      );
      expect(positional).toBe(published[name].text);
    }
  });

  test("leaves alone what only looks like a parameter in a column's name", async () => {
    const map = JSON.stringify({ id: "id$1", table: "inbox$2" });
    const folder = await folderWith({ "map.json": map });
    const { stdout } = await queuebox(["sql", "--schema", `${folder}/map.json`]);
    expect(stdout).toContain('"id$1"');
    expect(stdout).toContain('"inbox$2"');
    expect(stdout).toMatch(/^-- claim\.sql$/m);
  });

  test("says where it cannot write", async () => {
    const folder = await folderWith();
    await writeFile(join(folder, "taken"), "");
    const { code, stderr } = await queuebox(["sql", "--out", join(folder, "taken")]);
    expect(code).toBe(2);
    expect(stderr).toContain(`--out: cannot write to ${join(folder, "taken")}`);
  });
});
