/** The statements of the inbox on SQL Server, run as they are on real sessions. */
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { bind } from "../../src/dialect/bind.ts";
import type { InboxWorkerStatements } from "../../src/dialect/inbox-dialect.ts";
import { defaultSchema, type InboxSchema } from "../../src/dialect/inbox-schema.ts";
import type { InboxStatement } from "../../src/dialect/inbox-statement.ts";
import { sqlserverInbox } from "../../src/dialect/sqlserver/inbox.ts";
import { sqlserverInboxStatements } from "../../src/dialect/sqlserver/inbox-contract.ts";
import { inboxDdl } from "../../src/dialect/sqlserver/inbox-ddl.ts";
import type { Connection } from "../../src/driver/connection.ts";
import { forEachInbox, type Open, type OpenedSource } from "../support/sources.ts";

const SETTINGS = { batchSize: 10, chargeExpired: false };
const { list } = sqlserverInbox;
const statements = sqlserverInbox.statements(defaultSchema, SETTINGS);
const lease = { source: "orders", batch: 10, leaseMs: 60_000, candLimit: 50 };

const mapped: InboxSchema = {
  table: "Messaging.In_Box$1",
  id: "MessageId",
  consumption: "mode",
  source: "from",
  state: "order",
  scheduledAt: "Due_At",
  createdAt: "made",
  claimToken: "token",
  claimedAt: "taken",
  leaseExpiresAt: "until",
  processedAt: "done",
  attempt: "select",
  lastError: "error",
  idempotencyKey: "key",
  aggregateId: "group",
  eventType: "type",
  payload: "body",
  headers: "meta",
  correlationId: "trace",
};

type Values = Readonly<Record<string, unknown>>;

interface Claimed {
  readonly id: string | null;
  readonly idempotency_key: string;
  readonly attempt: number;
  readonly expired: boolean;
  readonly claimed_at: string;
  readonly held?: number;
  readonly cursor?: string;
  readonly ended?: boolean;
}

async function run<Row = Record<string, unknown>>(
  connection: Connection,
  statement: InboxStatement,
  values: Values = {},
): Promise<{ rows: Row[]; rowCount: number }> {
  const { params, text } = bind(statement, values);
  return await connection.query<Row>(text, params);
}

/** A claim, in a transaction of its own. */
async function claim(
  connection: Connection,
  values: Values = {},
  statement: InboxStatement = statements.claim,
): Promise<Claimed[]> {
  await connection.begin();
  const given = { ...lease, token: randomUUID(), cursor: "", ...values };
  const { rows } = await run<Claimed>(connection, statement, given);
  await connection.commit();
  return rows;
}

const keys = (rows: readonly Claimed[]) =>
  rows.filter(({ id }) => id !== null).map((row) => row.idempotency_key);

/** A time so many seconds from the database's now. */
const seconds = (n: number | string) => `DATEADD(second, ${n}, SYSUTCDATETIME())`;
/** In work under a lease of so many seconds. */
const held = (n: number) =>
  `state = N'processing', claim_token = NEWID(), claimed_at = SYSUTCDATETIME(), lease_expires_at = ${seconds(n)}`;

interface Given {
  readonly key: string;
  readonly aggregate?: string;
  readonly set?: string;
}

/** An inbox with these rows, due a second apart in the order given, and a connection. */
async function inbox(open: Open, rows: readonly Given[] = [], extraIndexes = true) {
  const opened = await open({ max: 3 });
  for (const statement of inboxDdl({ extraIndexes })) await opened.query(statement);
  for (const [place, { aggregate = null, key, set }] of rows.entries()) {
    await opened.query(
      `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, headers, consumption, created_at, scheduled_at)
      VALUES (N'orders', @p1, @p2, @p3, N'{"a":"b"}', 'pull', SYSUTCDATETIME(), ${seconds(place - 3600)})`,
      [key, aggregate, JSON.stringify({ key })],
    );
    if (set !== undefined) {
      await opened.query(`UPDATE inbox SET ${set} WHERE idempotency_key = N'${key}'`);
    }
  }
  return { ...opened, connection: await session(opened) };
}

async function session({ source }: Pick<OpenedSource, "source">): Promise<Connection> {
  const connection = await source.connect();
  onTestFinished(async () => {
    await connection.rollback();
    await connection.release();
  });
  return connection;
}

/** So many numbers, as `x.n`. */
const numbers = (count: number) =>
  `(SELECT TOP (${count}) ROW_NUMBER() OVER (ORDER BY (SELECT 1)) AS n
    FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS x`;

describe("the inbox's statements on SQL Server", () => {
  forEachInbox({ connections: "many", dialect: "sqlserver" }, (open) => {
    test("a claim answers every field of a message, in order, and how many rows it looked at", async () => {
      const { connection, query } = await inbox(open, [
        { key: "b" },
        { key: "c", aggregate: "x" },
        { key: "d", aggregate: "x" },
      ]);
      await query(
        `INSERT INTO inbox (id, source, idempotency_key, aggregate_id, event_type, correlation_id, payload, headers, consumption, attempt, scheduled_at)
        VALUES ('0A000000-0000-4000-8000-000000000001', N'orders', N'a', N'agg', N'made', N'corr', N'"123"', N'{"h": "1"}', 'pull', 2, '2001-01-01')`,
      );
      const token = randomUUID();
      const rows = await claim(connection, { token });
      expect(keys(rows)).toEqual(["a", "b", "c"]);
      expect(rows[0]).toEqual({
        id: "0a000000-0000-4000-8000-000000000001",
        source: "orders",
        idempotency_key: "a",
        aggregate_id: "agg",
        event_type: "made",
        correlation_id: "corr",
        payload: '"123"',
        headers: '{"h": "1"}',
        attempt: 2,
        expired: false,
        claimed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$/),
        held: 4,
      });
      const stored = await query(
        `SELECT state, LOWER(CONVERT(varchar(36), claim_token)) AS token,
          DATEDIFF(second, claimed_at, lease_expires_at) AS leased FROM inbox WHERE idempotency_key <> N'd'`,
      );
      expect(stored.rows).toEqual(Array(3).fill({ state: "processing", token, leased: 60 }));
      const [none, ...more] = await claim(connection);
      expect([none?.id, more]).toEqual([null, []]);
    });

    test.each([
      ["by aggregate", "claimPastByAggregate", true],
      ["in order", "claimPastInOrder", false],
    ] as const)(
      "the claim past a window, %s, reaches what the window does not",
      async (_walk, name, extra) => {
        const { connection, query } = await inbox(
          open,
          [{ key: "hot", aggregate: "hot", set: held(60) }],
          extra,
        );
        for (const [count, what, due] of [
          [60, "N'hot'", -3600],
          [4, "CONCAT(N'other-', x.n)", -1],
          [4, "NULL", -1],
        ] as const) {
          await query(
            `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, scheduled_at)
            SELECT N'orders', NEWID(), ${what}, N'{}', 'pull', ${seconds(due)} FROM ${numbers(count)}`,
          );
        }
        expect(await claim(connection)).toMatchObject([{ id: null, held: 50 }]);
        const rows = await claim(connection, {}, statements[name]);
        expect(keys(rows)).toHaveLength(8);
        expect(rows[0]).toMatchObject({ ended: true });
      },
    );

    test("the walk by aggregate goes on where it stopped", async () => {
      const { connection } = await inbox(
        open,
        ["a", "b", "c", "d", "e"].map((name) => ({ key: name, aggregate: name })),
      );
      const take = (cursor: string) =>
        claim(connection, { batch: 2, cursor }, statements.claimPastByAggregate);
      expect(await take("")).toMatchObject([
        { idempotency_key: "a", cursor: "b", ended: false },
        { idempotency_key: "b", cursor: "b", ended: false },
      ]);
      expect(await take("b")).toMatchObject([
        { idempotency_key: "c" },
        { idempotency_key: "d", cursor: "d" },
      ]);
      expect(await take("d")).toMatchObject([{ idempotency_key: "e", ended: true }]);
    });

    test("a free row is found behind a thousand rows that others have locked", async () => {
      const { connection, query, source } = await inbox(open);
      await query(`INSERT INTO inbox (source, idempotency_key, payload, consumption, scheduled_at)
        SELECT N'orders', CONCAT(N'', x.n), N'{}', 'pull', ${seconds("x.n - 3600")} FROM ${numbers(1001)}`);
      const other = await session({ source });
      await other.begin();
      await other.query("UPDATE inbox SET event_type = N'x' WHERE idempotency_key <> N'1001'");
      for (const name of ["claim", "claimPastInOrder", "claimPastByAggregate"] as const) {
        const rows = await claim(connection, {}, statements[name]);
        expect(keys(rows), name).toEqual(["1001"]);
        await query("UPDATE inbox SET state = N'pending' WHERE idempotency_key = N'1001'");
      }
    });

    test.each(["claim", "claimPastInOrder", "claimPastByAggregate"] as const)(
      "%s waits for nobody's insert, before an expired row of the aggregate too",
      async (name) => {
        const { connection, query, source } = await inbox(open, [
          { key: "expired", aggregate: "a", set: held(-1) },
          { key: "due", aggregate: "b" },
        ]);
        const producer = await session({ source });
        await producer.begin();
        for (const aggregate of ["a", "b"]) {
          await producer.query(
            `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, scheduled_at)
            VALUES (N'orders', N'early-${aggregate}', N'${aggregate}', N'{}', 'pull', ${seconds(-7200)})`,
          );
        }
        expect(keys(await claim(connection, {}, statements[name]))).toEqual(["expired", "due"]);
        await producer.commit();
        expect((await query("SELECT 1 AS n FROM inbox WHERE state = N'pending'")).rowCount).toBe(2);
      },
    );

    test("a second look finds rows whose aggregate is in other hands as well", async () => {
      const { connection, query } = await inbox(open, [
        { key: "1", aggregate: "x" },
        { key: "2", aggregate: "y" },
        { key: "3" },
        { key: "4", aggregate: "x", set: `scheduled_at = ${seconds(86_400)}` },
      ]);
      const token = randomUUID();
      const rows = await claim(connection, { token });
      const ids = list(rows.map(({ id }) => id ?? ""));
      const look = async () => (await run(connection, statements.lookAgain, { ids, token })).rows;
      const fourth = (set: string) => query(`UPDATE inbox SET ${set} WHERE idempotency_key = N'4'`);
      expect(await look()).toEqual([]);
      await fourth(held(-1));
      expect(await look()).toEqual([]);
      await fourth(held(60));
      expect(await look()).toEqual([{ id: rows[0]?.id }]);
      await fourth(`claim_token = '${token}'`);
      expect(await look()).toEqual([]);
      await fourth("scheduled_at = '2001-01-01'");
      expect(await look()).toEqual([{ id: rows[0]?.id }]);
    });

    test("leases are extended, and given back, by the token alone", async () => {
      const { connection, query } = await inbox(open, [
        { key: "1", set: held(-1) },
        { key: "2" },
        { key: "3" },
      ]);
      const token = randomUUID();
      const charging = { ...SETTINGS, chargeExpired: true };
      const rows = await claim(
        connection,
        { token },
        sqlserverInbox.statements(defaultSchema, charging).claim,
      );
      expect(rows.map(({ attempt, expired }) => [attempt, expired])).toEqual([
        [1, true],
        [0, false],
        [0, false],
      ]);
      const ids = rows.map(({ id }) => id ?? "");
      await query("UPDATE inbox SET claim_token = NEWID() WHERE idempotency_key = N'3'");
      const lists = { ids: list(ids), tokens: list(ids.map(() => token)) };
      const renewed = await run(connection, statements.renewAll, { ...lists, leaseMs: 3_600_000 });
      expect(renewed.rows).toEqual([
        { id: ids[0], outcome: "extended" },
        { id: ids[1], outcome: "extended" },
        { id: ids[2], outcome: "lost" },
      ]);
      const charges = list([1, 0, 0]);
      const released = await run(connection, statements.releaseAll, { ...lists, charges });
      expect(new Set(released.rows)).toEqual(new Set([{ id: ids[0] }, { id: ids[1] }]));
      const after = await query(
        `SELECT state, attempt, CASE WHEN claim_token IS NULL AND lease_expires_at IS NULL AND claimed_at IS NULL
          THEN 1 ELSE 0 END AS clean FROM inbox ORDER BY idempotency_key`,
      );
      expect(after.rows).toEqual([
        { state: "pending", attempt: 0, clean: 1 },
        { state: "pending", attempt: 0, clean: 1 },
        { state: "processing", attempt: 0, clean: 0 },
      ]);
    });

    test("complete, retry and dead change one row, behind the fence", async () => {
      const { connection, query } = await inbox(
        open,
        ["1", "2", "3", "4"].map((key) => ({ key })),
      );
      const token = randomUUID();
      const [one, two, three, four] = (await claim(connection, { token })).map(({ id }) => id);
      const { complete, dead, renew, retry } = sqlserverInboxStatements(defaultSchema);
      const all: readonly (readonly [InboxStatement, Values])[] = [
        [renew, { id: one, leaseMs: 60_000 }],
        [complete, { id: one }],
        [retry, { id: two, delayMs: 500, error: "again" }],
        [dead, { id: three, error: "never" }],
      ];
      await query(
        "UPDATE inbox SET lease_expires_at = SYSUTCDATETIME() WHERE idempotency_key = N'4'",
      );
      for (const [statement, values] of all) {
        const stale = { ...values, token: randomUUID() };
        expect((await run(connection, statement, stale)).rowCount).toBe(0);
        const expired = { ...values, id: four, token };
        expect((await run(connection, statement, expired)).rowCount).toBe(0);
        expect((await run(connection, statement, { ...values, token })).rowCount).toBe(1);
      }
      const after = await query(`SELECT state, attempt, last_error AS error,
          CASE WHEN processed_at IS NULL THEN 0 ELSE 1 END AS done,
          CASE WHEN claim_token IS NULL AND lease_expires_at IS NULL THEN 1 ELSE 0 END AS free,
          CASE WHEN scheduled_at > ${seconds(-60)} THEN 1 ELSE 0 END AS moved
        FROM inbox ORDER BY idempotency_key`);
      expect(after.rows).toEqual([
        { state: "processed", attempt: 0, error: null, done: 1, free: 1, moved: 0 },
        { state: "pending", attempt: 1, error: "again", done: 0, free: 1, moved: 1 },
        { state: "dead", attempt: 0, error: "never", done: 0, free: 1, moved: 0 },
        { state: "processing", attempt: 0, error: null, done: 0, free: 0, moved: 0 },
      ]);
    });

    test("the completion that fails its transaction does so only when the claim is lost", async () => {
      const { connection } = await inbox(open, [{ key: "1" }]);
      const token = randomUUID();
      const [row] = await claim(connection, { token });
      for (const [values, isLost] of [
        [{ id: row?.id, token: randomUUID() }, true],
        [{ id: row?.id, token }, false],
        [{ id: row?.id, token }, true],
      ] as const) {
        await connection.begin();
        const answer = run(connection, statements.completeOrFail, values);
        const found = await answer.catch((error: unknown) => error);
        expect(sqlserverInbox.errors.isClaimLost(found)).toBe(isLost);
        if (isLost) await connection.rollback();
        else await connection.commit();
      }
    });

    test.each([
      ["this worker's claim", statements.claim],
      ["the claim in any language", sqlserverInboxStatements(defaultSchema).claim],
      ["the walk by aggregate", statements.claimPastByAggregate],
      ["the walk in order", statements.claimPastInOrder],
    ])(
      "a message is read back as taken when %s came after, whatever became of it",
      async (_name, next) => {
        const { connection, query } = await inbox(open, [{ key: "1", aggregate: "x" }]);
        const token = randomUUID();
        const [row] = await claim(connection, { token });
        const values = { id: row?.id, token, claimedAt: row?.claimed_at };
        const back = async () => (await run(connection, statements.readBack, values)).rows;
        expect(await back()).toEqual([{ outcome: "ours" }]);
        await query("UPDATE inbox SET lease_expires_at = SYSUTCDATETIME()");
        expect(await back()).toEqual([{ outcome: "ours" }]);
        const theirs = { token: randomUUID() };
        const [taken] = await claim(connection, theirs, next);
        const { claim_token = theirs.token } = Object(taken);
        expect(await back()).toEqual([{ outcome: "taken" }]);
        const { complete, dead, retry } = sqlserverInboxStatements(defaultSchema);
        for (const how of [complete, dead, retry]) {
          await connection.begin();
          const settled = { id: row?.id, token: claim_token, delayMs: 0, error: "no" };
          expect((await run(connection, how, settled)).rowCount).toBe(1);
          expect(await back()).toEqual([{ outcome: "taken" }]);
          await connection.rollback();
        }
      },
    );

    test("never as completed after it was given back, retried or dead", async () => {
      const { connection } = await inbox(open, [{ key: "1" }]);
      const token = randomUUID();
      const [row] = await claim(connection, { token });
      const values = {
        id: row?.id,
        token,
        claimedAt: row?.claimed_at,
        delayMs: 0,
        error: "no",
        ids: list([row?.id ?? ""]),
        tokens: list([token]),
        charges: list([0]),
      };
      for (const how of [statements.releaseAll, statements.retry, statements.dead]) {
        await connection.begin();
        expect((await run(connection, how, values)).rowCount).toBe(1);
        expect((await run(connection, statements.readBack, values)).rows).toEqual([
          { outcome: "other" },
        ]);
        await connection.rollback();
      }
    });

    test("the catalogue tells missing columns, a missing table, and the index for long aggregates", async () => {
      const { connection, query } = await inbox(open);
      type Column = { name: string; present: boolean; table_present: boolean };
      const columns = async ({ columns: statement }: Pick<InboxWorkerStatements, "columns">) =>
        (await run<Column>(connection, statement)).rows;
      const index = async () => (await run(connection, statements.indexes)).rows;
      expect((await columns(statements)).every((row) => row.present && row.table_present)).toBe(
        true,
      );
      expect(await index()).toEqual([{ by_aggregate: true }]);
      await query("ALTER TABLE inbox DROP COLUMN correlation_id");
      expect((await columns(statements)).filter((row) => !row.present)).toMatchObject([
        { name: "correlation_id", table_present: true },
      ]);
      const nowhere = { ...defaultSchema, table: "nowhere.inbox" };
      const missing = await columns(sqlserverInbox.statements(nowhere, SETTINGS));
      expect(missing.some((row) => row.table_present)).toBe(false);
      await query("DROP INDEX inbox_aggregate_due_idx ON inbox");
      expect(await index()).toEqual([{ by_aggregate: false }]);
      const five = "source, aggregate_id, scheduled_at, created_at, id";
      const pull = "[state] = N'pending' AND [consumption] = 'pull'";
      for (const [ddl, isThere] of [
        [`(${five}) WHERE ${pull} AND [attempt] = 0`, false],
        [`(${five}) WHERE ${pull}`, true],
        [`(${five}, attempt)`, true],
        ["(source, aggregate_id, scheduled_at DESC, created_at, id)", false],
      ] as const) {
        await query(`CREATE INDEX tried ON inbox ${ddl}`);
        expect(await index(), ddl).toEqual([{ by_aggregate: isThere }]);
        await query("DROP INDEX tried ON inbox");
      }
    });

    test("every statement runs on a table of other names, and the DDL runs twice", async () => {
      const opened = await open({ max: 3 });
      await opened.query("CREATE SCHEMA Messaging");
      const ddl = inboxDdl({ schema: mapped, extraIndexes: true });
      for (const statement of [...ddl, ...ddl]) await opened.query(statement);
      await opened.query(
        "INSERT INTO [Messaging].[In_Box$1] ([from], [key], [group], [body], [mode]) VALUES (N'orders', N'1', N'x', N'{}', 'pull')",
      );
      const connection = await session(opened);
      const others = sqlserverInbox.statements(mapped, SETTINGS);
      const token = randomUUID();
      const [row] = await claim(connection, { token }, others.claim);
      expect(row).toMatchObject({ idempotency_key: "1", aggregate_id: "x", payload: "{}" });
      const id = row?.id ?? "";
      const values = {
        ...lease,
        id,
        token,
        ids: list([id]),
        tokens: list([token]),
        charges: list([0]),
        cursor: "",
        delayMs: 0,
        error: "e",
        claimedAt: "2001-01-01T00:00:00.0000000",
      };
      const { claimWindow: _window, completeOrFail, ...rest } = others;
      await connection.begin();
      for (const statement of [
        ...Object.values(rest),
        ...Object.values(sqlserverInboxStatements(mapped)),
      ]) {
        await expect(run(connection, statement, values)).resolves.toBeDefined();
      }
      await connection.rollback();
      await run(connection, completeOrFail, { id, token });
      expect((await run(connection, others.indexes)).rows).toEqual([{ by_aggregate: true }]);
    });
  });
});
