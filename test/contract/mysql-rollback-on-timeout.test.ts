/** `innodb_rollback_on_timeout`, which a server takes when it starts: a lock wait timeout ends the whole transaction. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { Connection } from "../../src/driver/connection.ts";
import type { HandlerFacade } from "../../src/form/handler-transaction.ts";
import { hasMethods } from "../../src/options.ts";
import { c } from "../../src/table/columns.ts";
import { testBroker } from "../support/broker-table.ts";
import { forEachOwnServer, type OwnServer, onUrl } from "../support/own-server.ts";
import { type Connected, connectMariadb, connectMysql2 } from "../support/sources.ts";
import { until } from "../support/until.ts";

const columns = {
  id: c.bigint().id().generated(),
  attempt: c.integer().attempt().generated(),
  payload: c.json().payload(),
};
const lease = c.timestamp().lockedUntil().nullable();
const TABLES = [
  ["row lock", inboxTable("jobs", { columns })],
  ["lease", inboxTable("jobs", { columns: { ...columns, lease } })],
  ["advisory lock", inboxTable("jobs", { columns, advisoryLock: "job-{id}" })],
] as const;
type Jobs = (typeof TABLES)[number][1];

const DRIVERS = { mysql2: connectMysql2, mariadb: connectMariadb };

/** The handler's own queries, and those of an ORM. */
const WAYS: Readonly<Record<string, (tx: HandlerFacade, text: string) => Promise<unknown>>> = {
  "tx.query": (tx, text) => tx.query(text),
  "tx.client": async (tx, text) => {
    if (!hasMethods(tx.client, ["query"])) throw new Error("it has no client");
    return await tx.client.query(text);
  },
};

/** How many lock waits have timed out on the server so far. */
async function timeouts(url: string): Promise<number> {
  const [row] = await onUrl(
    url,
    "SELECT `COUNT` AS n FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_timeouts'",
  );
  return Number(row?.["n"]);
}

forEachOwnServer("a server with innodb_rollback_on_timeout", (start) => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await start("--innodb-rollback-on-timeout", "--innodb-lock-wait-timeout=1");
  });
  afterAll(() => server.stop());

  /** A database with the table, and with a row of `totals` that another session has locked. */
  async function opened(connect: (url: string, max: number) => Connected, table: Jobs) {
    const url = await server.empty();
    await onUrl(
      url,
      ...table.ddl("mysql"),
      "CREATE TABLE totals (n INT PRIMARY KEY, seen INT NOT NULL)",
      "CREATE TABLE effects (what VARCHAR(20))",
      "INSERT INTO totals VALUES (1, 0)",
    );
    const [setting] = await onUrl(url, "SELECT @@innodb_rollback_on_timeout AS ends");
    expect(setting?.["ends"]).toBe(1);
    const { end, source } = connect(url, 6);
    onTestFinished(end);
    const blocker: Connection = await source.connect();
    onTestFinished(async () => {
      await blocker.rollback();
      await blocker.release();
    });
    await blocker.begin();
    await blocker.query("SELECT * FROM totals FOR UPDATE");
    return { url, source, blocker };
  }

  for (const [driver, connect] of Object.entries(DRIVERS)) {
    describe.each(TABLES)(`${driver}, %s`, (_form, table) => {
      test.each(Object.entries(WAYS))(
        "27, 63: a lock wait timeout that the handler swallowed commits nothing, and spends no attempt: by %s",
        async (_way, run) => {
          const { blocker, source, url } = await opened(connect, table);
          const { broker, logger } = testBroker(source);
          const attempts: unknown[] = [];
          const errors: unknown[] = [];
          const late: unknown[] = [];
          broker.subscribe(table.queue(), { transactional: true }, async (_, { attempt, tx }) => {
            attempts.push(attempt);
            await run(tx, "INSERT INTO effects VALUES ('before')");
            await run(tx, "UPDATE totals SET seen = seen + 1").catch(async (error: unknown) => {
              errors.push(error);
              await blocker.rollback();
            });
            // Outside of the transaction this would commit by itself.
            await run(tx, "INSERT INTO effects VALUES ('after')").catch((error: unknown) =>
              late.push(error),
            );
          });
          await table.queue().insert(source, 1);
          await broker.start();
          await until(() => broker.stats()[0]?.settled.ack === 1);
          expect(errors).toMatchObject([{ errno: 1205 }]);
          expect(late.map(String)).toEqual([
            expect.stringContaining("has rolled the handler's transaction back"),
          ]);
          expect(await onUrl(url, "SELECT what FROM effects")).toEqual([
            { what: "before" },
            { what: "after" },
          ]);
          expect(await onUrl(url, "SELECT seen FROM totals")).toEqual([{ seen: 1 }]);
          expect(attempts).toEqual([1, 1]);
          expect(logger.of("redelivered")).toHaveLength(1);
          expect(logger.of("retried")).toEqual([]);
          expect(await onUrl(url, "SELECT id FROM jobs")).toEqual([]);
        },
      );

      test("27, 35: a settlement that waits too long for a lock is made again, and spends no attempt", async () => {
        const { blocker, source, url } = await opened(connect, table);
        await onUrl(
          url,
          "CREATE TRIGGER counted BEFORE DELETE ON jobs FOR EACH ROW UPDATE totals SET seen = seen + 1",
        );
        const before = await timeouts(url);
        const { broker, logger } = testBroker(source);
        const attempts: unknown[] = [];
        broker.subscribe(table.queue(), (_, { attempt }) => void attempts.push(attempt));
        await table.queue().insert(source, 1);
        await broker.start();
        await until(() => attempts.length > 0);
        await until(async () => (await timeouts(url)) > before);
        await blocker.rollback();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(await onUrl(url, "SELECT seen FROM totals")).toEqual([{ seen: 1 }]);
        expect(new Set(attempts)).toEqual(new Set([1]));
        expect(logger.of("retried")).toEqual([]);
      });
    });
  }
});
