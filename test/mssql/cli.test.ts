/** The command line on SQL Server, as far as a server that runs no SQL can tell. */
import { describe, expect, test } from "vitest";
import { jsonError } from "../cli/run-cli.ts";
import { describeTable } from "../support/described-table.ts";
import { catalogueOf, isDescription } from "./catalogue.ts";
import { project } from "./cli-project.ts";
import type { Reply, Said } from "./tds-server.ts";

const jobs = describeTable({
  name: "jobs",
  columns: { id: ["bigint", "id"], lease: ["timestamp", "lockedUntil"] },
});
const CONFIG = `module.exports = { databases: { main: {
  url: process.env.DATABASE_URL, tables: [{ description: ${JSON.stringify(jobs)} }] } } };`;

/** A server with the table, and a project beside it that describes it. */
function described(answer: (said: Said) => Reply | undefined = () => undefined) {
  const catalogue = catalogueOf(jobs);
  return project((said) => answer(said) ?? (isDescription(said) ? [] : catalogue(said)), {
    "intray.config.cjs": CONFIG,
  });
}

const STATUS = {
  group: "nvarchar",
  waiting: "nvarchar",
  later: "nvarchar",
  leased: "nvarchar",
  done: "nvarchar",
  oldest_due: "nvarchar",
  oldest_due_ms: "nvarchar",
} as const;

describe("intray check on SQL Server", () => {
  test("82: has each statement described, and runs none", async () => {
    const { run, server, url } = await described();
    const { code, stderr, stdout } = await run(url, "check", "--json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      databases: [{ server: "SQL Server 16" }],
    });
    expect(server.said.filter(isDescription).length).toBeGreaterThan(7);
    for (const { kind, text } of server.said) {
      expect(kind).toBe("batch");
      expect(text).toMatch(
        /^(EXEC sys\.sp_describe|SELECT|SET NOCOUNT OFF; SET XACT|IF @@TRANCOUNT > 0 ROLLBACK)/,
      );
    }
  });

  test("82: names the table, the statement and the server's words", async () => {
    const message = "The DELETE permission was denied on the object 'jobs'.";
    const { run, url } = await described((said) =>
      isDescription(said) && said.text.includes("DELETE i")
        ? [{ error: 229, message }, { error: 11501 }]
        : undefined,
    );
    const { code, stdout } = await run(url, "check");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /jobs: the statement "ack" is refused: .*The DELETE permission was denied/,
    );
  });
});

describe("a SQL Server", () => {
  test("is reached by either scheme, and by a connection string", async () => {
    const { other, port, run, server, url } = await described(({ text }) =>
      text.includes("AS waiting")
        ? [{ columns: STATUS, rows: [[null, "3", "0", "0", "0", null, null]] }]
        : undefined,
    );
    const text = `Server=127.0.0.1,${port};Database=app;User Id=sa;Password="hunter2;x";Encrypt=false`;
    for (const at of [url, other, text]) {
      const { code, stderr, stdout } = await run(at, "status", "--json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(stdout).groups).toMatchObject([{ table: "jobs", waiting: 3 }]);
      expect(stdout).not.toContain("hunter2");
    }
    expect(server.open.size).toBe(0);
  });

  test("that does not answer is told of without secrets", async () => {
    const { run } = await described();
    for (const url of [
      "mssql://app:hunter2@127.0.0.1:1/shop?encrypt=false",
      "Server=127.0.0.1,1;Database=shop;User Id=app;Password=hunter2;Encrypt=false",
      "Data Source=127.0.0.1,1;Pwd=hunter2;Initial Catalog=shop",
      'Server=127.0.0.1,1;Database=shop;User Id=app;Password="a;Server=hunter2"',
    ]) {
      const { code, stderr } = await run(url, "status");
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error: cannot connect to .*127\.0\.0\.1.*shop.*: .*\n$/);
      expect(stderr).not.toMatch(/hunter|app:|\n {4}at /);
    }
  });

  test("by a URL that is wrong is refused without secrets", async () => {
    const { run } = await described();
    const wrong = await run("mssql://app:hunter2@localhost:port/shop", "status");
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot connect to") });
    for (const query of ["encrypt=hunter3", "password=hunter3", "encrypt=true&hunter3"]) {
      const unknown = await run(`mssql://app:hunter2@localhost/shop?${query}`, "status", "--json");
      expect(jsonError(unknown)).toEqual({
        code: 2,
        error: {
          code: "USAGE",
          message: expect.stringMatching(
            /takes encrypt=true or false and trustServerCertificate=true or false/,
          ),
        },
      });
      expect(unknown.stderr).not.toContain("hunter");
    }
    expect(wrong.stderr).not.toContain("hunter");
  });
});
