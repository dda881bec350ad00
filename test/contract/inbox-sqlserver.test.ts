/** What is SQL Server's own in the inbox: the lock of a source, row counts, hints, row versions on and off. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { bind } from "../../src/dialect/bind.ts";
import type { ClaimedRow, InboxWorkerStatements } from "../../src/dialect/inbox-dialect.ts";
import type { InboxStatement } from "../../src/dialect/inbox-statement.ts";
import { isTransient } from "../../src/dialect/sqlserver/errors.ts";
import { sqlserverInbox } from "../../src/dialect/sqlserver/inbox.ts";
import type { Connection } from "../../src/driver/connection.ts";
import { defaultSchema, inboxSql } from "../../src/queuebox/index.ts";
import { type OpenedInbox, openInbox } from "../support/inbox.ts";
import { forEachInbox } from "../support/sources.ts";
import { eventually, latch, work } from "../support/work-inbox.ts";

const HOUR = 3_600_000;
const statements: InboxWorkerStatements = sqlserverInbox.statements(defaultSchema, {
  batchSize: 10,
  chargeExpired: false,
});

type Values = Record<string, unknown>;

async function run<Row>(connection: Connection, statement: InboxStatement, values: Values) {
  const { params, text } = bind(statement, values);
  return await connection.query<Row>(text, params);
}

/** A claim whose transaction is left open. */
async function claim(connection: Connection, values: Values = {}): Promise<ClaimedRow[]> {
  await connection.begin();
  const { rows } = await run<ClaimedRow | { id: null }>(connection, statements.claim, {
    source: "orders",
    batch: 10,
    leaseMs: HOUR,
    token: randomUUID(),
    ...values,
  });
  return rows.filter((row) => row.id !== null);
}

async function inTurn<T>(connection: Connection, claiming: Promise<T>): Promise<T> {
  const claimed = await claiming;
  await connection.commit();
  return claimed;
}

/** Somebody waits for an application lock of this database. */
async function isWaiting(inbox: OpenedInbox): Promise<boolean> {
  const { rowCount } = await inbox.query(
    `SELECT 1 AS waits FROM sys.dm_tran_locks
    WHERE resource_type = N'APPLICATION' AND request_status = N'WAIT' AND resource_database_id = DB_ID()`,
  );
  return rowCount > 0;
}

const VERSIONS = ["ON", "OFF"] as const;

/** An inbox with row versions on or off. */
async function openWith(
  open: Parameters<typeof openInbox>[0],
  versions: (typeof VERSIONS)[number],
  options: Parameters<typeof openInbox>[1] = {},
): Promise<OpenedInbox> {
  const inbox = await openInbox(open, options);
  await inbox.query(
    `ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ${versions} WITH ROLLBACK IMMEDIATE`,
  );
  return inbox;
}

describe("the inbox on SQL Server", () => {
  forEachInbox({ connections: "many", dialect: "sqlserver" }, (open, words) => {
    describe.each(VERSIONS)("with READ_COMMITTED_SNAPSHOT %s", (versions) => {
      test("a claim waits for nobody's insert, and takes one message of an aggregate, in order", async () => {
        const inbox = await openWith(open, versions);
        await inbox.insert(
          { key: "a-1", aggregateId: "a", dueInMs: -4000 },
          { key: "a-2", aggregateId: "a", dueInMs: -3000 },
          { key: "free", dueInMs: -2000 },
          { key: "later", dueInMs: HOUR },
        );
        const producer = await inbox.another().connect();
        await producer.begin();
        await producer.query(
          `INSERT INTO inbox (source, idempotency_key, payload, consumption, scheduled_at)
          VALUES (N'orders', N'uncommitted', N'{}', 'pull', ${words.later(-9000)})`,
        );
        const connection = await inbox.source.connect();
        const claimed = await inTurn(connection, claim(connection));
        expect(claimed.map((row) => row.idempotency_key)).toEqual(["a-1", "free"]);
        expect(await inTurn(connection, claim(connection))).toEqual([]);
        await producer.rollback();
        await producer.release();
        await connection.release();
      });

      test("claims of a source take turns, and those of another source do not wait", async () => {
        const inbox = await openWith(open, versions);
        await inbox.insert({ key: "1" }, { key: "2" }, { key: "3", source: "other" });
        const [first, second, third] = [
          await inbox.source.connect(),
          await inbox.source.connect(),
          await inbox.source.connect(),
        ];
        expect(await claim(first, { batch: 1 })).toMatchObject([{ idempotency_key: "1" }]);
        const waits = inTurn(second, claim(second, { batch: 1 }));
        await eventually(() => isWaiting(inbox));
        const other = await inTurn(third, claim(third, { source: "other" }));
        expect(other).toMatchObject([{ idempotency_key: "3" }]);
        await first.commit();
        expect(await waits).toMatchObject([{ idempotency_key: "2" }]);
        for (const each of [first, second, third]) await each.release();
      });

      test("an aggregate is busy until the completion of its message has committed", async () => {
        const inbox = await openWith(open, versions);
        await inbox.insert({ key: "a-1", aggregateId: "a" }, { key: "a-2", aggregateId: "a" });
        const [handler, claimer] = [await inbox.source.connect(), await inbox.source.connect()];
        const token = randomUUID();
        const [message] = await inTurn(handler, claim(handler, { token }));
        await handler.begin();
        await run(handler, statements.completeOrFail, { id: message?.id, token });
        const next = inTurn(claimer, claim(claimer));
        if (versions === "ON") expect(await next).toEqual([]);
        await handler.rollback();
        expect(await next).toEqual([]);
        await handler.release();
        await claimer.release();
      });

      test("a renewal waits for no lock, and tells what is locked from what is lost", async () => {
        const inbox = await openWith(open, versions);
        await inbox.insert({ key: "held" }, { key: "free" }, { key: "stolen" });
        const [connection, handler] = [await inbox.source.connect(), await inbox.source.connect()];
        const token = randomUUID();
        const rows = await inTurn(connection, claim(connection, { token }));
        await inbox.query(
          `UPDATE inbox SET claim_token = ${words.uuid} WHERE idempotency_key = N'stolen'`,
        );
        await handler.begin();
        await run(handler, statements.completeOrFail, { id: rows[0]?.id, token });
        const ids = [...rows.map(({ id }) => id), randomUUID()];
        const renewed = await run<{ id: string; outcome: string }>(
          connection,
          statements.renewAll,
          {
            leaseMs: 2 * HOUR,
            ids: sqlserverInbox.list(ids),
            tokens: sqlserverInbox.list(ids.map(() => token)),
          },
        );
        const outcomes = new Map(renewed.rows.map(({ id, outcome }) => [id, outcome]));
        expect(ids.map((id) => outcomes.get(id))).toEqual(["locked", "extended", "lost", "lost"]);
        await handler.rollback();
        await handler.release();
        await connection.release();
      });

      test("a completion is told by the row, once its transaction has ended", async () => {
        const inbox = await openWith(open, versions);
        await inbox.insert({ key: "a" });
        const [connection, handler] = [await inbox.source.connect(), await inbox.source.connect()];
        const token = randomUUID();
        const [message] = await inTurn(connection, claim(connection, { token }));
        const values = { id: message?.id, token, claimedAt: message?.claimed_at };
        const outcome = async (given: Values = values) =>
          (await run<{ outcome: string }>(connection, statements.readBack, given)).rows[0]?.outcome;
        expect(await outcome()).toBe("ours");
        await handler.begin();
        await run(handler, statements.completeOrFail, { id: message?.id, token });
        expect(await outcome()).toBe("locked");
        await handler.commit();
        expect(await outcome()).toBe("completed");
        expect(await outcome({ ...values, claimedAt: "2001-02-03T04:05:06.1234567" })).toBe(
          "taken",
        );
        expect(await outcome({ ...values, id: randomUUID() })).toBe("gone");
        await handler.release();
        await connection.release();
      });
    });

    test.each([
      ["SQL_Latin1_General_CP1_CI_AS", ["Ωrders", "ωRDERS", "Ωrders "], 1],
      ["Latin1_General_100_CS_AS", ["Ωrders", "ωRDERS"], 2],
      ["Latin1_General_100_CS_AS", ["东京", "大阪"], 2],
    ])("under %s the sources %j are %i", async (collation, sources, locks) => {
      const inbox = await openInbox(open);
      // Other than the database's, so that neither the lock nor a comparison may lean on that.
      await inbox.query("DROP TABLE inbox");
      const ddl = words
        .ddl({ schema: defaultSchema, extraIndexes: false, listenNotify: false })
        .map((text) => text.replaceAll(/nvarchar\(255\)/g, `nvarchar(255) COLLATE ${collation}`));
      for (const statement of ddl) await inbox.query(statement);
      await inbox.insert(
        ...sources.map((source, n) => ({ source, key: `${n}`, aggregateId: "a" })),
      );
      const [first, second] = [await inbox.source.connect(), await inbox.source.connect()];
      expect(await claim(first, { source: sources[0] })).toHaveLength(1);
      const other = inTurn(second, claim(second, { source: sources[1] }));
      if (locks === 1) {
        await eventually(() => isWaiting(inbox));
        await first.commit();
        // The aggregate is in work, under whichever spelling.
        expect(await other).toEqual([]);
      } else {
        expect(await other).toHaveLength(1);
        await first.commit();
      }
      await first.release();
      await second.release();
    });

    test("a claim that does not get the lock in ten seconds is error 51000, which is transient", async () => {
      const inbox = await openInbox(open);
      const [first, second] = [await inbox.source.connect(), await inbox.source.connect()];
      await claim(first);
      const error: unknown = await claim(second).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        message: expect.stringMatching(/lock of the source was not to be had .*-1\)/),
      });
      expect(isTransient(error)).toBe(true);
      await second.rollback();
      await first.commit();
      await first.release();
      await second.release();
    });

    test("rows are counted with SET NOCOUNT ON, and with triggers that change rows of their own", async () => {
      const inbox = await openInbox(open);
      await inbox.query("CREATE TABLE audit (n int IDENTITY NOT NULL, what nvarchar(50) NOT NULL)");
      await inbox.query(`CREATE TRIGGER watch ON inbox AFTER UPDATE AS
        INSERT INTO audit (what) SELECT x.what FROM (VALUES (N'a'), (N'b'), (N'c')) AS x (what)`);
      await inbox.insert(...["retried", "dead", "done", "renewed"].map((key) => ({ key })));
      const connection = await inbox.source.connect();
      const token = randomUUID();
      const rows = await inTurn(connection, claim(connection, { token }));
      await connection.query("SET NOCOUNT ON");
      const [retried, dead, done, renewed] = rows.map(({ id }) => ({ id, token }));
      expect(rows).toHaveLength(4);
      const five = inboxSql("sqlserver", defaultSchema);
      const changes = [
        [five.renew, { ...renewed, leaseMs: HOUR }],
        [five.retry, { ...retried, delayMs: 0, error: "x" }],
        [five.dead, { ...dead, error: "x" }],
        [five.complete, { ...done }],
      ] as const;
      for (const [statement, values] of changes) {
        const stale = { ...values, token: randomUUID() };
        expect((await run(connection, statement, stale)).rowCount).toBe(0);
        expect((await run(connection, statement, values)).rowCount).toBe(1);
      }
      await connection.release();
      expect((await inbox.rows()).map(({ key, state }) => [key, state]).sort()).toEqual([
        ["dead", "dead"],
        ["done", "processed"],
        ["renewed", "processing"],
        ["retried", "pending"],
      ]);
    });

    test("a delay of months is exact, and one past the calendar is as late as can be", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "months" }, { key: "ages" });
      const connection = await inbox.source.connect();
      const token = randomUUID();
      const [months, ages] = await inTurn(connection, claim(connection, { token }));
      const { retry } = statements;
      const hundredDays = 100 * 24 * HOUR + 1;
      const values = { token, error: null };
      await run(connection, retry, { ...values, id: months?.id, delayMs: hundredDays });
      await run(connection, retry, {
        ...values,
        id: ages?.id,
        delayMs: Number.MAX_SAFE_INTEGER,
      });
      await connection.release();
      const { dueInMs } = await inbox.row("months");
      expect(dueInMs).toBeGreaterThan(hundredDays - 60_000);
      expect(dueInMs).toBeLessThanOrEqual(hundredDays);
      expect((await inbox.row("ages")).dueInMs).toBeGreaterThan(6_000 * 365 * 24 * HOUR);
    });

    test.each([true, false])(
      "a claim of ten returns ten behind a thousand messages of one aggregate (extra index: %s)",
      async (extraIndexes) => {
        const inbox = await openInbox(open, { extraIndexes });
        const many = (count: number, columns: string) =>
          inbox.query(`INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, scheduled_at)
          SELECT TOP (${count}) N'orders', NEWID(), ${columns}
          FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b`);
        await many(1000, `N'hot', N'{}', 'pull', ${words.later(-HOUR)}`);
        await many(
          100,
          `CONCAT(N'other-', ROW_NUMBER() OVER (ORDER BY (SELECT 1))), N'{}', 'pull', ${words.later(-1000)}`,
        );
        const seen: (string | null)[] = [];
        const mayEnd = latch();
        const { stop } = work(
          inbox.source,
          async ({ aggregateId }) => {
            seen.push(aggregateId);
            await mayEnd.opened;
          },
          { maxConcurrency: 10, pollIntervalMs: HOUR },
        );
        await eventually(async () => (await inbox.count("processing")) === 10);
        await eventually(() => seen.length > 0);
        mayEnd.open();
        await stop();
        const first = new Set(seen.slice(0, 10));
        expect(first.size).toBe(seen.slice(0, 10).length);
      },
    );

    test("a database whose level has no OPENJSON stops the worker with an error that says what to do", async () => {
      const inbox = await openInbox(open);
      await inbox.query("ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 120");
      const { ended } = work(inbox.source, () => {});
      await expect(ended).rejects.toMatchObject({
        code: "SCHEMA",
        message: expect.stringMatching(
          /compatibility level 120; it takes 130 .*COMPATIBILITY_LEVEL = 130/,
        ),
      });
    });
  });
});
