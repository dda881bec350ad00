import { expect, test } from "vitest";
import { describeOn } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { addRow, forEachInboxDatabase, inboxDatabase } from "./inbox-database.ts";
import { Cli, folderWith, jsonError, queuebox } from "./run-cli.ts";

forEachInboxDatabase("intray queuebox status", (kind) => {
  test("counts source by source", async () => {
    const database = await kind.inbox();
    for (const [key, state] of Object.entries({
      a: "pending",
      b: "pending",
      c: "dead",
      d: "processed",
    })) {
      await kind.addRow(database, { key, state });
    }
    await kind.addRow(database, { key: "a", source: "mails", state: "processing" });
    await kind.addRow(database, { key: "b", source: "mails", state: "processing" });
    await kind.addRow(database, { key: "c", source: "mails", state: "pending" });
    const { later } = kind.words;
    await database.query(
      `UPDATE inbox SET lease_expires_at = CASE idempotency_key WHEN 'a' THEN ${later(3_600_000)} ELSE ${later(-3_600_000)} END
        WHERE state = 'processing'`,
    );
    await database.query(
      `UPDATE inbox SET scheduled_at = ${later(86_400_000)} WHERE source = 'mails' AND state = 'pending'`,
    );
    await database.query(
      `UPDATE inbox SET scheduled_at = ${later(-90 * 60_000)} WHERE source = 'orders'`,
    );
    const { code, stdout } = await queuebox(["status", "--json"], { url: database.url });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      table: "inbox",
      sources: [
        {
          source: "mails",
          backlog: 0,
          scheduled: 1,
          inWork: 1,
          expired: 1,
          dead: 0,
          oldestDue: null,
          oldestDueMs: null,
        },
        {
          source: "orders",
          backlog: 2,
          scheduled: 0,
          inWork: 0,
          expired: 0,
          dead: 1,
          oldestDue: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,7}Z$/),
          oldestDueMs: expect.any(Number),
        },
      ],
    });
    const table = await queuebox(["status", "--source", "orders"], { url: database.url });
    expect(table.stdout).toMatch(/orders .* 2 .* 0 .* 0 .* 0 .* 1 .* 1 h 30 m ago/);
    expect(table.stdout).not.toContain("mails");
  });

  test("has zeros for a source without messages that it is asked for", async () => {
    const { url } = await kind.inbox();
    const { stdout } = await queuebox(["status", "--source", "new", "--json"], { url });
    expect(JSON.parse(stdout).sources).toMatchObject([{ source: "new", backlog: 0, dead: 0 }]);
    const all = await queuebox(["status"], { url });
    expect(all).toMatchObject({
      code: 0,
      stdout: "nothing in inbox is waiting, in work or dead\n",
    });
  });

  test("looks again and again with --watch, until it is stopped", async () => {
    const database = await kind.inbox();
    const cli = new Cli(["queuebox", "status", "--watch", "1", "--json"], { url: database.url });
    await until(() => cli.stdout.split("\n").length === 2);
    await kind.addRow(database, { key: "a" });
    await until(() => cli.stdout.includes('"dead":1'));
    cli.process.kill("SIGINT");
    expect(await cli.ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("says that the table is missing, or a column", async () => {
    const { query, url } = await kind.empty();
    for (const command of [["status"], ["dead", "list"]]) {
      const failed = jsonError(await queuebox([...command, "--json"], { url }));
      const message = expect.stringMatching(/has no table inbox\. "intray queuebox ddl"/);
      expect(failed).toEqual({ code: 1, error: { code: "NO_TABLE", message } });
    }
    await query("CREATE TABLE inbox (id int)");
    const { code, stderr } = await queuebox(["status"], { url });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: the table inbox has no column .*consumption, .*V10/);
  });
});

describeOn("postgres", "intray queuebox status", () => {
  test("works through postgres.js where pg is not there", async () => {
    const database = await inboxDatabase();
    await addRow(database, { key: "a" });
    const folder = await folderWith();
    const { copyFile, mkdir, symlink } = await import("node:fs/promises");
    const { CLI } = await import("./run-cli.ts");
    const { repository } = await import("../support/package.ts");
    await copyFile(CLI, `${folder}/cli.mjs`);
    await mkdir(`${folder}/node_modules`);
    await symlink(`${repository}/node_modules/postgres`, `${folder}/node_modules/postgres`);
    const options = { entry: `${folder}/cli.mjs`, cwd: folder, url: database.url };
    const { code, stdout } = await queuebox(["status", "--json"], options);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).sources).toMatchObject([{ source: "orders", dead: 1 }]);
    const retried = await queuebox(["dead", "retry", "--all", "--json"], options);
    expect(JSON.parse(retried.stdout)).toMatchObject({ retried: 1 });
  });
});
