import { expect, onTestFinished, test } from "vitest";
import { forEachOwnServer, onUrl } from "../support/own-server.ts";
import { intray } from "./described/described-database.ts";
import { tablesAt } from "./described/tables.ts";

forEachOwnServer("a server whose sql_mode is not strict", (start) => {
  test("22, 78, 82: intray check says so of each table; the other commands are strict by themselves", async () => {
    const server = await start("--sql-mode=NO_ENGINE_SUBSTITUTION");
    onTestFinished(() => server.stop());
    const url = await server.empty();
    const tables = Object.values(tablesAt(url));
    await onUrl(url, ...tables.flatMap((table) => table.ddl("mysql")));
    await onUrl(
      url,
      "INSERT INTO email_jobs (name, payload, done) VALUES ('a', '{}', '2020-01-01')",
    );
    for (const at of [url, url.replace(/^mysql:/, "mariadb:")]) {
      const checked = await intray(["check", "--json"], { url: at });
      expect(checked.code).toBe(1);
      const [database] = JSON.parse(checked.stdout).databases;
      expect(database.tables).toHaveLength(3);
      for (const { problems } of database.tables) {
        expect(problems).toEqual([
          {
            column: expect.any(String),
            message: expect.stringMatching(
              /^column "\w+" is written .* sql_mode .*: add STRICT_TRANS_TABLES/,
            ),
          },
        ]);
      }
      expect(await intray(["status"], { url: at })).toMatchObject({ code: 0, stderr: "" });
    }
    const purged = await intray(
      ["purge", "--table", "email_jobs", "--older-than", "1d", "--yes", "--json"],
      { url },
    );
    expect(purged).toMatchObject({ code: 0, stderr: "" });
    expect(await onUrl(url, "SELECT job_id FROM email_jobs")).toEqual([]);
  });
});
