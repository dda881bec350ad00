import { describe, expect, test } from "vitest";
import { Cli, folderWith, jsonError, queuebox } from "./run-cli.ts";

const COMMANDS = [
  ["demo"],
  ["ddl"],
  ["sql"],
  ["status"],
  ["dead", "list"],
  ["dead", "show"],
  ["dead", "retry"],
  ["dead", "purge"],
];

describe("the command line", () => {
  test.each(COMMANDS)(
    "%s %s says in its help what it takes, examples and exit codes",
    async (...command) => {
      const { code, stdout, stderr } = await queuebox([...command.filter(Boolean), "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain("--json");
      expect(stdout).toContain(`Examples:\n`);
      expect(stdout).toMatch(/Exit codes:\n {2}0 {2}fine\n {2}1 {2}failed.*\n {2}2 {2}wrong usage/);
    },
  );

  test("tells its version", async () => {
    expect(await new Cli(["--version"]).ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/),
    });
  });

  test.each([
    [[], /Usage: intray/],
    [["queuebox"], /Usage: intray queuebox/],
    [["queuebox", "dead"], /Usage: intray queuebox dead/],
    [["queuebox", "stat"], /^error: unknown command 'stat'/],
    [["queuebox", "ddl", "--nope"], /^error: unknown option '--nope'/],
    [["queuebox", "ddl", "--dialect", "oracle"], /^error: .*'oracle'.*postgresql, sqlserver/],
    [["queuebox", "dead", "list", "--limit", "0"], /^error: .*'0'.*whole number from 1/],
    [["queuebox", "dead", "list", "--source", " "], /^error: .*not blank/],
    [["queuebox", "dead", "show", "12"], /^error: .*'12'.*UUID/],
    [["queuebox", "dead", "purge", "--older-than", "7"], /^error: .*'7'.*7d, 12h, 30m/],
    [["queuebox", "status", "--watch", "x"], /^error: .*'x'.*whole number/],
  ])("%j ends with 2 and one error", async (args, error) => {
    const { code, stdout, stderr } = await new Cli(args).ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(error);
    expect(stderr.match(/error:/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });

  test("tells a wrong option as JSON where JSON is asked for", async () => {
    expect(jsonError(await queuebox(["ddl", "--json", "--nope"]))).toEqual({
      code: 2,
      error: { code: "USAGE", message: expect.stringContaining("--nope") },
    });
    expect(jsonError(await queuebox(["dead", "--json"]))).toMatchObject({ code: 2 });
  });

  test("prints no password, not even of an option that it does not know", async () => {
    const { code, stderr } = await queuebox(["status", "--databse-url=postgres://u:hunter2@h/x"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--databse-url");
    expect(stderr).not.toContain("hunter2");
  });

  test.each([
    ["status"],
    ["dead", "list"],
    ["dead", "retry", "--all"],
    ["dead", "purge", "--all", "-y"],
  ])("%s %s says what to set where there is no database", async (...command) => {
    const args = command.filter((part) => typeof part === "string");
    for (const url of [undefined, " "]) {
      const { code, stderr } = await queuebox(args, url === undefined ? {} : { url });
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /^error: there is no database: set DATABASE_URL, or give --database-url/,
      );
    }
  });

  test("refuses a URL of another database without repeating it", async () => {
    const { code, stderr } = await queuebox(["status"], { url: "mysql://root:hunter2@h/x" });
    expect(code).toBe(2);
    expect(stderr).toContain("postgres://");
    expect(stderr).not.toContain("hunter2");
  });

  test("says that a server does not answer, without the password and without a stack", async () => {
    const url = "postgres://app:hunter2@127.0.0.1:1/shop?password=hunter3";
    for (const command of [["status"], ["dead", "list"], ["demo"]]) {
      const { code, stderr } = await queuebox(command, { url });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error: cannot connect to postgres:\/\/\*\*\*@127\.0\.0\.1:1\/shop/);
      expect(stderr).toContain("ECONNREFUSED");
      expect(stderr).not.toMatch(/hunter|\n {4}at /);
    }
  });

  test("says that there is no driver", async () => {
    const folder = await folderWith();
    const { copyFile } = await import("node:fs/promises");
    const { CLI } = await import("./run-cli.ts");
    await copyFile(CLI, `${folder}/cli.mjs`);
    const result = await queuebox(["status"], {
      entry: `${folder}/cli.mjs`,
      cwd: folder,
      url: "postgres://localhost/x",
    });
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("npm install pg") });
  });

  test.each([
    ["{", /map\.json is no JSON/],
    ["[]", /map\.json takes a JSON object of names, not an array/],
    ['{"tabel": "x"}', /map\.json: schema\.tabel: there is no such name/],
    ['{"table": "a; DROP TABLE b"}', /map\.json: schema\.table: .* is not a safe name/],
    ['{"id": 4}', /map\.json: schema\.id is 4, not a string/],
  ])("refuses the schema map %s", async (text, error) => {
    const folder = await folderWith({ "map.json": text });
    for (const command of ["ddl", "sql", "status"]) {
      const args = [command, "--schema", `${folder}/map.json`];
      const { code, stderr } = await queuebox(args, { url: "postgres://127.0.0.1:1/x" });
      expect(code).toBe(2);
      expect(stderr).toMatch(error);
    }
  });

  test("says which schema map cannot be read", async () => {
    const { code, stderr } = await queuebox(["ddl", "--schema", "/nowhere/map.json"]);
    expect(code).toBe(2);
    expect(stderr).toContain("cannot read /nowhere/map.json");
  });
});
