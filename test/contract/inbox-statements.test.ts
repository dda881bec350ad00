import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { bind } from "../../src/dialect/bind.ts";
import { defaultSchema, type InboxSchema } from "../../src/dialect/inbox-schema.ts";
import type { InboxStatement } from "../../src/dialect/inbox-statement.ts";
import { columnsStatement, indexesStatement } from "../../src/dialect/postgres/inbox-catalogue.ts";
import { claimStatement } from "../../src/dialect/postgres/inbox-claim.ts";
import {
  claimPastByAggregateStatement,
  claimPastInOrderStatement,
} from "../../src/dialect/postgres/inbox-claim-past.ts";
import { postgresInboxStatements } from "../../src/dialect/postgres/inbox-contract.ts";
import { inboxChannel, inboxDdl, inboxDdlText } from "../../src/dialect/postgres/inbox-ddl.ts";
import {
  listDeadStatement,
  purgeDeadByIdStatement,
  purgeDeadStatement,
  retryDeadOfSourceStatement,
  retryDeadStatement,
  showDeadStatement,
} from "../../src/dialect/postgres/inbox-dead-letters.ts";
import { releaseAllStatement, renewAllStatement } from "../../src/dialect/postgres/inbox-lease.ts";
import { lookAgainStatement } from "../../src/dialect/postgres/inbox-look-again.ts";
import { readBackStatement } from "../../src/dialect/postgres/inbox-read-back.ts";
import {
  completeOrFailStatement,
  completeStatement,
  deadStatement,
  retryStatement,
} from "../../src/dialect/postgres/inbox-settle.ts";
import { statusStatement } from "../../src/dialect/postgres/inbox-status.ts";
import { arrayText, claimLostMark } from "../../src/dialect/postgres/sql.ts";
import type { Connection } from "../../src/driver/connection.ts";
import { forEachSource, type OpenedSource } from "../support/sources.ts";

const mapped: InboxSchema = {
  table: "Messaging.In_Box$1",
  id: "MessageId",
  consumption: "mode",
  source: "from",
  state: "order",
  scheduledAt: "Due At".replace(" ", "_"),
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

/** Runs a statement with its values by name. */
async function run<Row = Record<string, unknown>>(
  connection: Connection,
  statement: InboxStatement,
  values: Readonly<Record<string, unknown>> = {},
): Promise<{ rows: Row[]; rowCount: number }> {
  const { text, params } = bind(statement, values);
  return connection.query<Row>(text, params);
}

interface Claimed {
  readonly id: string | null;
  readonly idempotency_key: string;
  readonly attempt: number;
  readonly expired: boolean;
  readonly payload: string;
  readonly headers: string;
  readonly held: number;
  readonly claimed_at: string;
}

const lease = { source: "orders", batch: 10, leaseMs: 60_000 };

/** In work under a lease of so many seconds. */
const held = (seconds: number): string =>
  `state = 'processing', claim_token = gen_random_uuid(), claimed_at = now(), lease_expires_at = now() + interval '${seconds} seconds'`;

forEachSource({ connections: "one" }, (_name, open) => {
  let opened: OpenedSource;
  beforeAll(async () => {
    opened = await open({ max: 3 });
  });

  /** A connection for the test. */
  async function connect(): Promise<Connection> {
    const connection = await opened.source.connect();
    onTestFinished(async () => connection.release());
    return connection;
  }

  /** An inbox with these rows, and a connection. Rows are due a second apart, in the order given. */
  async function inbox(
    rows: readonly { key: string; aggregate?: string; set?: string }[] = [],
    extraIndexes = true,
  ) {
    await opened.query("DROP TABLE IF EXISTS inbox");
    for (const statement of inboxDdl({ extraIndexes })) await opened.query(statement);
    let place = 0;
    for (const { key, aggregate = null, set } of rows) {
      await opened.query(
        `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, headers, consumption, created_at, scheduled_at)
         VALUES ('orders', $1::text, $2::text, $3::text::jsonb, '{"a": "b"}', 'pull',
           now() - interval '1 hour' + $4::int * interval '1 second', now() - interval '1 hour' + $4::int * interval '1 second')`,
        [key, aggregate, JSON.stringify({ key }), ++place],
      );
      if (set !== undefined) {
        await opened.query(`UPDATE inbox SET ${set} WHERE idempotency_key = '${key}'`);
      }
    }
    return { query: opened.query, connection: await connect() };
  }

  async function claimed(
    connection: Connection,
    statement: InboxStatement,
    values: Record<string, unknown>,
  ): Promise<{ keys: string[]; rows: Claimed[] }> {
    const { rows } = await run<Claimed>(connection, statement, values);
    const found = rows.filter((row) => row.id !== null);
    return { keys: found.map((row) => row.idempotency_key), rows };
  }

  test("a claim answers every field of a message, in order, and how many rows it looked at", async () => {
    const { connection, query } = await inbox([{ key: "b" }, { key: "c", aggregate: "x" }]);
    await query(
      `INSERT INTO inbox (id, source, idempotency_key, aggregate_id, event_type, correlation_id, payload, headers, consumption, attempt, created_at, scheduled_at)
       VALUES ('00000000-0000-4000-8000-000000000001', 'orders', 'a', 'agg', 'made', 'corr', '"123"', '{"h": "1", "i": "2"}', 'pull', 2, now(), '2001-01-01')`,
    );
    const token = randomUUID();
    const { rows } = await run(connection, claimStatement(defaultSchema, { batchSize: 10 }), {
      ...lease,
      token,
    });
    expect(rows.map((row) => row.idempotency_key)).toEqual(["a", "b", "c"]);
    expect(rows[0]).toEqual({
      id: "00000000-0000-4000-8000-000000000001",
      source: "orders",
      idempotency_key: "a",
      aggregate_id: "agg",
      event_type: "made",
      correlation_id: "corr",
      payload: '"123"',
      headers: '{"h": "1", "i": "2"}',
      attempt: 2,
      expired: false,
      claimed_at: expect.stringMatching(/\.\d{6}Z$/),
      held: 3,
    });
    const stored = await query(
      "SELECT state, claim_token::text AS token, lease_expires_at - claimed_at = interval '1 minute' AS leased FROM inbox",
    );
    expect(stored.rows).toEqual(Array(3).fill({ state: "processing", token, leased: true }));
  });

  test("a claim that finds nothing answers one row without an id", async () => {
    const { connection } = await inbox([
      { key: "later", set: "scheduled_at = now() + interval '1 day'" },
    ]);
    for (const statement of [
      claimStatement(defaultSchema, { batchSize: 10 }),
      claimPastByAggregateStatement(defaultSchema, { batchSize: 10 }),
      claimPastInOrderStatement(defaultSchema, { batchSize: 10 }),
    ]) {
      const { rows } = await run(connection, statement, {
        ...lease,
        token: randomUUID(),
        cursor: "",
      });
      expect(rows).toHaveLength(1);
      expect(rows[0]).toMatchObject({ id: null });
    }
  });

  for (const [name, make] of [
    ["claim", claimStatement],
    ["claim past, by aggregate", claimPastByAggregateStatement],
    ["claim past, in order", claimPastInOrderStatement],
  ] as const) {
    describe(name, () => {
      const claim = make(defaultSchema, { batchSize: 10 });
      const take = (connection: Connection, batch = 10) =>
        claimed(connection, claim, { ...lease, batch, token: randomUUID(), cursor: "" });

      test("one of an aggregate, its first; rows without one are free of each other; in order", async () => {
        const { connection } = await inbox([
          { key: "1", aggregate: "x" },
          { key: "2" },
          { key: "3", aggregate: "x" },
          { key: "4", aggregate: "y" },
          { key: "5" },
        ]);
        expect((await take(connection)).keys).toEqual(["1", "2", "4", "5"]);
        expect((await take(connection)).keys).toEqual([]);
      });

      test("no more than the batch, the first ones", async () => {
        const { connection } = await inbox(["1", "2", "3"].map((key) => ({ key })));
        expect((await take(connection, 2)).keys).toEqual(["1", "2"]);
      });

      test("other sources, pushed rows, later rows and settled rows are not its business", async () => {
        const { connection } = await inbox([
          { key: "1", aggregate: "x", set: "source = 'others'" },
          { key: "2", aggregate: "x", set: "consumption = 'push'" },
          { key: "3", aggregate: "x", set: "state = 'processed'" },
          { key: "4", aggregate: "x", set: "state = 'dead'" },
          { key: "5", aggregate: "x", set: "scheduled_at = now() + interval '1 day'" },
          { key: "6", aggregate: "x", set: `source = 'others', ${held(60)}` },
          { key: "7", aggregate: "x" },
        ]);
        expect((await take(connection)).keys).toEqual(["7"]);
      });

      test("an aggregate in live work is busy, under an empty name too", async () => {
        const { connection } = await inbox([
          { key: "1", aggregate: "x" },
          { key: "2", aggregate: "x", set: held(60) },
          { key: "3", aggregate: "" },
          { key: "4", aggregate: "", set: held(60) },
          { key: "5", aggregate: "z" },
        ]);
        expect((await take(connection)).keys).toEqual(["5"]);
      });

      test("an expired row is taken again, in its place, and says so", async () => {
        const { connection } = await inbox([
          { key: "1", aggregate: "x", set: held(-1) },
          { key: "2", aggregate: "x" },
          { key: "3", set: held(-1) },
          { key: "4", aggregate: "y" },
          { key: "5", aggregate: "y", set: held(-1) },
          { key: "6", aggregate: "z", set: held(-1) },
          { key: "7", aggregate: "z", set: held(60) },
          { key: "8", aggregate: "w", set: held(-1) },
          { key: "9", aggregate: "w", set: held(-1) },
        ]);
        const { keys, rows } = await take(connection);
        expect(keys).toEqual(["1", "3", "4", "8"]);
        expect(rows.map((row) => row.expired)).toEqual([true, true, false, true]);
        expect(rows.map((row) => row.attempt)).toEqual([0, 0, 0, 0]);
      });

      test("chargeExpired adds one to the attempt of an expired row, and of no other", async () => {
        const { connection } = await inbox([{ key: "1", set: held(-1) }, { key: "2" }]);
        const charging = make(defaultSchema, { batchSize: 10, chargeExpired: true });
        const { rows } = await claimed(connection, charging, {
          ...lease,
          token: randomUUID(),
          cursor: "",
        });
        expect(rows.map((row) => row.attempt)).toEqual([1, 0]);
      });
    });
  }

  test.each([
    ["by aggregate", claimPastByAggregateStatement, true],
    ["in order", claimPastInOrderStatement, false],
  ] as const)(
    "the claim past a window, %s, reaches what the window does not",
    async (_walk, make, extra) => {
      const { connection, query } = await inbox(
        [{ key: "hot", aggregate: "hot", set: held(60) }],
        extra,
      );
      await query(
        `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, created_at, scheduled_at)
       SELECT 'orders', 'hot-' || n, 'hot', '{}'::jsonb, 'pull', now(), now() - interval '1 hour' FROM generate_series(1, 60) n
       UNION ALL SELECT 'orders', 'other-' || n, 'other-' || n, '{}', 'pull', now(), now() FROM generate_series(1, 4) n
       UNION ALL SELECT 'orders', 'none-' || n, NULL, '{}', 'pull', now(), now() FROM generate_series(1, 4) n`,
      );
      const window = await claimed(connection, claimStatement(defaultSchema, { batchSize: 10 }), {
        ...lease,
        token: randomUUID(),
      });
      expect(window).toMatchObject({ keys: [], rows: [{ held: 50 }] });
      const { keys, rows } = await claimed(connection, make(defaultSchema, { batchSize: 10 }), {
        ...lease,
        token: randomUUID(),
        cursor: "",
      });
      expect(keys.sort()).toEqual(
        ["other", "none"].flatMap((kind) => [1, 2, 3, 4].map((n) => `${kind}-${n}`)).sort(),
      );
      expect(rows[0]).toMatchObject({ ended: true });
    },
  );

  test("the walk by aggregate goes on where it stopped", async () => {
    const { connection } = await inbox(
      ["a", "b", "c", "d", "e"].map((name) => ({ key: name, aggregate: name })),
    );
    const claim = claimPastByAggregateStatement(defaultSchema, { batchSize: 10 });
    const take = (cursor: string) =>
      run<{ idempotency_key: string; cursor: string; ended: boolean }>(connection, claim, {
        ...lease,
        batch: 2,
        token: randomUUID(),
        cursor,
      });
    const first = await take("");
    expect(first.rows).toMatchObject([
      { idempotency_key: "a", cursor: "b", ended: false },
      { idempotency_key: "b", cursor: "b", ended: false },
    ]);
    expect((await take("b")).rows).toMatchObject([
      { idempotency_key: "c" },
      { idempotency_key: "d", cursor: "d" },
    ]);
    expect((await take("d")).rows).toMatchObject([{ idempotency_key: "e", ended: true }]);
  });

  test("a second look finds rows whose aggregate is in other hands as well", async () => {
    const { connection, query } = await inbox([
      { key: "1", aggregate: "x" },
      { key: "2", aggregate: "y" },
      { key: "3" },
      { key: "4", aggregate: "x", set: "scheduled_at = now() + interval '1 day'" },
    ]);
    const token = randomUUID();
    const { rows } = await claimed(connection, claimStatement(defaultSchema, { batchSize: 10 }), {
      ...lease,
      token,
    });
    const ids = arrayText(rows.map((row) => row.id ?? ""));
    const look = async (): Promise<unknown[]> =>
      (await run(connection, lookAgainStatement(defaultSchema), { ids, token })).rows;
    expect(await look()).toEqual([]);
    await query(`UPDATE inbox SET ${held(-1)} WHERE idempotency_key = '4'`);
    expect(await look()).toEqual([]);
    await query(`UPDATE inbox SET ${held(60)} WHERE idempotency_key = '4'`);
    expect(await look()).toEqual([{ id: rows[0]?.id }]);
    await query(`UPDATE inbox SET claim_token = '${token}' WHERE idempotency_key = '4'`);
    expect(await look()).toEqual([]);
    await query(`UPDATE inbox SET scheduled_at = '2001-01-01' WHERE idempotency_key = '4'`);
    expect(await look()).toEqual([{ id: rows[0]?.id }]);
  });

  test("leases are extended, and given back, by the token alone", async () => {
    const { connection, query } = await inbox([
      { key: "1", set: held(-1) },
      { key: "2" },
      { key: "3" },
    ]);
    const token = randomUUID();
    const charging = claimStatement(defaultSchema, { batchSize: 10, chargeExpired: true });
    const { rows } = await claimed(connection, charging, { ...lease, token });
    const ids = rows.map((row) => row.id ?? "");
    await query(`UPDATE inbox SET claim_token = gen_random_uuid() WHERE idempotency_key = '3'`);
    const lists = { ids: arrayText(ids), tokens: arrayText(ids.map(() => token)) };
    const renewed = await run(connection, renewAllStatement(defaultSchema), {
      ...lists,
      leaseMs: 3_600_000,
    });
    expect(new Set(renewed.rows)).toEqual(
      new Set([
        { id: ids[0], outcome: "extended" },
        { id: ids[1], outcome: "extended" },
        { id: ids[2], outcome: "lost" },
      ]),
    );
    const released = await run(connection, releaseAllStatement(defaultSchema), {
      ...lists,
      charges: arrayText([1, 0, 0]),
    });
    expect(new Set(released.rows)).toEqual(new Set([{ id: ids[0] }, { id: ids[1] }]));
    const after = await query(
      "SELECT state, attempt, claim_token IS NULL AND lease_expires_at IS NULL AND claimed_at IS NULL AS clean FROM inbox ORDER BY idempotency_key",
    );
    expect(after.rows).toEqual([
      { state: "pending", attempt: 0, clean: true },
      { state: "pending", attempt: 0, clean: true },
      { state: "processing", attempt: 0, clean: false },
    ]);
  });

  test("complete, retry and dead change one row, behind the fence", async () => {
    const { connection, query } = await inbox(["1", "2", "3", "4"].map((key) => ({ key })));
    const token = randomUUID();
    const { rows } = await claimed(connection, claimStatement(defaultSchema, { batchSize: 10 }), {
      ...lease,
      token,
    });
    const [one, two, three, four] = rows.map((row) => row.id);
    const { complete, retry, dead, renew } = postgresInboxStatements(defaultSchema);
    const stale = { token: randomUUID() };
    const all: [InboxStatement, Record<string, unknown>][] = [
      [renew, { id: one, leaseMs: 60_000 }],
      [complete, { id: one }],
      [retry, { id: two, delayMs: 500, error: "again" }],
      [dead, { id: three, error: "never" }],
    ];
    for (const [statement, values] of all) {
      expect((await run(connection, statement, { ...values, ...stale })).rowCount).toBe(0);
    }
    await query(`UPDATE inbox SET lease_expires_at = now() WHERE id = '${four}'`);
    for (const [statement, values] of all) {
      expect((await run(connection, statement, { ...values, id: four, token })).rowCount).toBe(0);
      expect((await run(connection, statement, { ...values, token })).rowCount).toBe(1);
    }
    const after = await query(`
      SELECT state, attempt, last_error AS error, processed_at IS NOT NULL AS done,
        claim_token IS NULL AND lease_expires_at IS NULL AS free, scheduled_at > now() - interval '1 minute' AS moved
      FROM inbox ORDER BY idempotency_key`);
    expect(after.rows).toEqual([
      { state: "processed", attempt: 0, error: null, done: true, free: true, moved: false },
      { state: "pending", attempt: 1, error: "again", done: false, free: true, moved: true },
      { state: "dead", attempt: 0, error: "never", done: false, free: true, moved: false },
      { state: "processing", attempt: 0, error: null, done: false, free: false, moved: false },
    ]);
  });

  test.each(["force_custom_plan", "force_generic_plan"])(
    "the completion that fails by itself fails only when the claim is lost, under %s",
    async (mode) => {
      const { connection } = await inbox([{ key: "1" }]);
      await connection.query(`SET plan_cache_mode = ${mode}`);
      const token = randomUUID();
      const { rows } = await claimed(connection, claimStatement(defaultSchema, { batchSize: 10 }), {
        ...lease,
        token,
      });
      const statement = completeOrFailStatement(defaultSchema);
      const id = rows[0]?.id;
      const failure = expect.objectContaining({
        code: "22P02",
        message: expect.stringContaining(claimLostMark),
      });
      await expect(run(connection, statement, { id, token: randomUUID() })).rejects.toEqual(
        failure,
      );
      const done = await run<{ done: number }>(connection, statement, { id, token });
      expect(done.rows).toEqual([{ done: 1 }]);
      await expect(run(connection, statement, { id, token })).rejects.toEqual(failure);
      await connection.query("RESET plan_cache_mode");
    },
  );

  describe("a message is read back", () => {
    const worker = claimStatement(defaultSchema, { batchSize: 10 });

    /** A message that is claimed, the values of its claim, and what is read back with them. */
    const claimedOnce = async () => {
      const opened = await inbox([{ key: "1", aggregate: "x" }]);
      const timesAre = async (style: string, zone: string) => {
        await opened.connection.query(`SET DateStyle TO ${style}`);
        await opened.connection.query(`SET TimeZone TO ${zone}`);
      };
      const { connection, query } = opened;
      onTestFinished(() => timesAre("DEFAULT", "DEFAULT"));
      await timesAre("'SQL, DMY'", "'Asia/Kolkata'");
      const token = randomUUID();
      const { rows } = await claimed(connection, worker, { ...lease, token });
      const claim = { id: rows[0]?.id, token, claimedAt: rows[0]?.claimed_at };
      await timesAre("'Postgres, MDY'", "'America/St_Johns'");
      const back = async () =>
        (await run<{ outcome: string }>(connection, readBackStatement(defaultSchema), claim)).rows;
      const expire = () =>
        query("UPDATE inbox SET lease_expires_at = clock_timestamp() WHERE state = 'processing'");
      return { ...opened, back, claim, expire };
    };

    test("as completed, ours or gone", async () => {
      const { back, claim, connection, expire, query } = await claimedOnce();
      expect(claim.claimedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      expect(await back()).toEqual([{ outcome: "ours" }]);
      await expire();
      expect(await back()).toEqual([{ outcome: "ours" }]);
      await query("UPDATE inbox SET lease_expires_at = clock_timestamp() + interval '1 hour'");
      await run(connection, completeOrFailStatement(defaultSchema), claim);
      expect(await back()).toEqual([{ outcome: "completed" }]);
      await query("DELETE FROM inbox");
      expect(await back()).toEqual([{ outcome: "gone" }]);
    });

    test.each([
      ["this worker's claim", worker, {}],
      [
        "the claim in any language",
        postgresInboxStatements(defaultSchema).claim,
        { candLimit: 50 },
      ],
      [
        "the walk by aggregate",
        claimPastByAggregateStatement(defaultSchema, { batchSize: 10 }),
        {},
      ],
      ["the walk in order", claimPastInOrderStatement(defaultSchema, { batchSize: 10 }), {}],
    ])("as taken when %s came after, whatever became of it", async (_name, statement, values) => {
      const { back, connection, expire } = await claimedOnce();
      await expire();
      const token = randomUUID();
      const after = { ...lease, token, cursor: "", ...values };
      const { rows } = await run<Claimed & { claim_token?: string }>(connection, statement, after);
      expect(await back()).toEqual([{ outcome: "taken" }]);
      const theirs = { id: rows[0]?.id, token: rows[0]?.claim_token ?? token };
      const settled = async (how: InboxStatement) => {
        await connection.begin();
        expect((await run(connection, how, { ...theirs, delayMs: 0, error: "no" })).rowCount).toBe(
          1,
        );
        const outcome = await back();
        await connection.rollback();
        return outcome;
      };
      expect(await settled(completeStatement(defaultSchema))).toEqual([{ outcome: "taken" }]);
      expect(await settled(retryStatement(defaultSchema))).toEqual([{ outcome: "taken" }]);
      expect(await settled(deadStatement(defaultSchema))).toEqual([{ outcome: "taken" }]);
    });

    test("never as completed after it was given back, retried, dead or run again", async () => {
      const { back, claim, connection } = await claimedOnce();
      const values = {
        ...claim,
        delayMs: 0,
        error: "no",
        ids: `{${claim.id}}`,
        tokens: `{${claim.token}}`,
        charges: "{0}",
      };
      const readAfter = async (...statements: InboxStatement[]) => {
        await connection.begin();
        for (const each of statements) {
          expect((await run(connection, each, values)).rowCount).toBe(1);
        }
        const rows = await back();
        await connection.rollback();
        return rows;
      };
      const other = [{ outcome: "other" }];
      const dead = deadStatement(defaultSchema);
      expect(await readAfter(releaseAllStatement(defaultSchema))).toEqual(other);
      expect(await readAfter(retryStatement(defaultSchema))).toEqual(other);
      expect(await readAfter(dead)).toEqual(other);
      expect(await readAfter(dead, retryDeadStatement(defaultSchema))).toEqual(other);
      expect(await readAfter(dead, purgeDeadByIdStatement(defaultSchema))).toEqual([
        { outcome: "gone" },
      ]);
    });
  });

  test("dead letters are listed, shown, run again and thrown away", async () => {
    const dead =
      "state = 'dead', attempt = 5, last_error = 'boom', claimed_at = now() - interval '2 days'";
    const { connection } = await inbox([
      { key: "1", set: dead },
      { key: "2", set: dead },
      { key: "3", set: `${dead}, source = 'others'` },
      { key: "4" },
    ]);
    const list = async (source: string | null, after: string | null, limit: number) =>
      (
        await run<{ id: string; idempotency_key: string }>(
          connection,
          listDeadStatement(defaultSchema),
          { source, after, limit },
        )
      ).rows;
    expect((await list(null, null, 10)).map((row) => row.idempotency_key)).toEqual(["3", "2", "1"]);
    const page = await list("orders", null, 1);
    expect(page).toMatchObject([{ idempotency_key: "2", attempt: 5, last_error: "boom" }]);
    const after = page[0]?.id ?? null;
    const rest = await list("orders", after, 10);
    expect(rest.map((row) => row.idempotency_key)).toEqual(["1"]);
    const id = rest[0]?.id;
    const shown = await run(connection, showDeadStatement(defaultSchema), { id });
    expect(shown.rows).toMatchObject([{ id, payload: '{"key": "1"}', headers: '{"a": "b"}' }]);
    const again = await run(connection, retryDeadStatement(defaultSchema), {
      ids: arrayText([id ?? ""]),
    });
    expect(again.rows).toEqual([{ id }]);
    expect(
      (await run(connection, retryDeadOfSourceStatement(defaultSchema), { source: "orders" })).rows,
    ).toEqual([{ id: after }]);
    const purge = purgeDeadStatement(defaultSchema);
    expect(
      (await run(connection, purge, { source: null, olderThanMs: 3 * 86_400_000 })).rows,
    ).toEqual([]);
    expect((await run(connection, purge, { source: "orders", olderThanMs: 0 })).rows).toEqual([]);
    expect(
      (await run(connection, purge, { source: null, olderThanMs: 86_400_000 })).rows,
    ).toHaveLength(1);
    expect(
      (await run(connection, purgeDeadByIdStatement(defaultSchema), { ids: arrayText([id ?? ""]) }))
        .rows,
    ).toEqual([]);
    const { keys } = await claimed(connection, claimStatement(defaultSchema, { batchSize: 10 }), {
      ...lease,
      token: randomUUID(),
    });
    expect([...keys].sort()).toEqual(["1", "2", "4"]);
  });

  test("the status counts each source", async () => {
    const { connection } = await inbox([
      { key: "1" },
      { key: "2", set: "scheduled_at = now() + interval '1 day'" },
      { key: "3", set: held(60) },
      { key: "4", set: held(-60) },
      { key: "5", set: "state = 'dead'" },
      { key: "6", set: "state = 'processed'" },
      { key: "7", set: "source = 'others', scheduled_at = now() + interval '1 day'" },
    ]);
    const all = await run(connection, statusStatement(defaultSchema), { source: null });
    expect(all.rows).toEqual([
      {
        source: "orders",
        backlog: "1",
        scheduled: "1",
        in_work: "1",
        expired: "1",
        dead: "1",
        oldest_due: expect.stringMatching(/^\d{4}-.*Z$/),
        oldest_due_ms: expect.stringMatching(/^\d+$/),
      },
      {
        source: "others",
        backlog: "0",
        scheduled: "1",
        in_work: "0",
        expired: "0",
        dead: "0",
        oldest_due: null,
        oldest_due_ms: null,
      },
    ]);
    const one = await run(connection, statusStatement(defaultSchema), { source: "others" });
    expect(one.rows).toHaveLength(1);
  });

  test("the catalogue tells missing columns, a missing table, and the index for long aggregates", async () => {
    const { connection, query } = await inbox();
    const columns = async (schema: InboxSchema) =>
      (
        await run<{ name: string; present: boolean; table_present: boolean }>(
          connection,
          columnsStatement(schema),
        )
      ).rows;
    const index = async () => (await run(connection, indexesStatement(defaultSchema))).rows;
    expect((await columns(defaultSchema)).every((row) => row.present && row.table_present)).toBe(
      true,
    );
    expect(await index()).toEqual([{ by_aggregate: true }]);
    await query("ALTER TABLE inbox DROP COLUMN headers");
    expect((await columns(defaultSchema)).filter((row) => !row.present)).toMatchObject([
      { name: "headers", table_present: true },
    ]);
    expect(
      (await columns({ ...defaultSchema, table: "nowhere.inbox" })).some(
        (row) => row.table_present,
      ),
    ).toBe(false);
    await query("DROP INDEX inbox_aggregate_due_idx");
    expect(await index()).toEqual([{ by_aggregate: false }]);
    const five = "source, aggregate_id, scheduled_at, created_at, id";
    await query(
      `CREATE INDEX narrower ON inbox (${five}) WHERE state = 'pending' AND consumption = 'pull' AND attempt = 0`,
    );
    expect(await index()).toEqual([{ by_aggregate: false }]);
    await query(
      `CREATE INDEX other_way_round ON inbox (${five}) WHERE state = 'pending' AND consumption = 'pull'`,
    );
    expect(await index()).toEqual([{ by_aggregate: true }]);
    await query(`DROP INDEX other_way_round; CREATE INDEX whole ON inbox (${five}, attempt)`);
    expect(await index()).toEqual([{ by_aggregate: true }]);
  });

  test("every statement runs on a table of other names, and the DDL runs twice", async () => {
    await opened.query('CREATE SCHEMA "Messaging"');
    const options = { schema: mapped, extraIndexes: true, listenNotify: true };
    await opened.query(inboxDdlText(options));
    for (const statement of inboxDdl(options)) await opened.query(statement);
    await opened.query(
      `INSERT INTO "Messaging"."In_Box$1" ("from", "key", "group", "body", "mode") VALUES ('orders', '1', 'x', '{}', 'pull')`,
    );
    const connection = await connect();
    const token = randomUUID();
    const { rows } = await claimed(connection, claimStatement(mapped, { batchSize: 10 }), {
      ...lease,
      token,
    });
    expect(rows).toMatchObject([{ idempotency_key: "1", aggregate_id: "x", payload: "{}" }]);
    const id = rows[0]?.id ?? "";
    const values = {
      ...lease,
      id,
      token,
      ids: `{${id}}`,
      tokens: `{${token}}`,
      charges: "{0}",
      cursor: "",
      candLimit: 50,
      delayMs: 0,
      error: "e",
      after: null,
      claimedAt: "2001-01-01T00:00:00.000000Z",
      limit: 10,
      olderThanMs: 0,
    };
    const five = postgresInboxStatements(mapped);
    for (const statement of [
      columnsStatement(mapped),
      indexesStatement(mapped),
      lookAgainStatement(mapped),
      renewAllStatement(mapped),
      readBackStatement(mapped),
      five.renew,
      releaseAllStatement(mapped),
      five.claim,
      five.complete,
      five.retry,
      five.dead,
      claimPastByAggregateStatement(mapped, { batchSize: 10 }),
      claimPastInOrderStatement(mapped, { batchSize: 10 }),
      statusStatement(mapped),
      listDeadStatement(mapped),
      showDeadStatement(mapped),
      retryDeadStatement(mapped),
      retryDeadOfSourceStatement(mapped),
      purgeDeadStatement(mapped),
      purgeDeadByIdStatement(mapped),
    ]) {
      await expect(run(connection, statement, values)).resolves.toBeDefined();
    }
    expect((await run(connection, indexesStatement(mapped))).rows).toEqual([
      { by_aggregate: true },
    ]);
  });

  test("an insert notifies once for each source with rows that are due", async () => {
    const { source, query } = opened;
    await query("DROP TABLE IF EXISTS inbox");
    for (const statement of inboxDdl({ listenNotify: true })) await query(statement);
    if (source.listen === undefined) return;
    const heard: string[] = [];
    let ended: () => void = () => undefined;
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const stop = await source.listen(inboxChannel(defaultSchema), {
      notified: (payload) => (payload === "end" ? ended() : heard.push(payload)),
      lost: () => undefined,
    });
    await query(`INSERT INTO inbox (source, idempotency_key, payload, consumption, scheduled_at) VALUES
      ('orders', '1', '{}', 'pull', now()), ('orders', '2', '{}', 'pull', now()), ('others', '3', '{}', 'pull', now()),
      ('later', '4', '{}', 'pull', now() + interval '1 day'), ('pushed', '5', '{}', 'push', now())`);
    await query("UPDATE inbox SET attempt = 1");
    await query("SELECT pg_notify('inbox', 'end')");
    await end;
    expect(heard.sort()).toEqual(["orders", "others"]);
    await stop();
  });
});

forEachSource({ connections: "many" }, (_name, open) => {
  test("a locked row is skipped: renewed as locked, read back as locked, not released, not claimed", async () => {
    const { source, query, another } = await open({ max: 3 });
    for (const statement of inboxDdl()) await query(statement);
    await query(
      `INSERT INTO inbox (source, idempotency_key, payload, consumption) VALUES ('orders', '1', '{}', 'pull')`,
    );
    const connection = await source.connect();
    onTestFinished(async () => connection.release());
    const other = await another({ max: 1 }).connect();
    onTestFinished(async () => other.release());
    const token = randomUUID();
    const { rows } = await run<Claimed>(
      connection,
      claimStatement(defaultSchema, { batchSize: 10 }),
      { ...lease, token },
    );
    const id = rows[0]?.id ?? "";
    await connection.begin();
    await run(connection, completeOrFailStatement(defaultSchema), { id, token });
    const values = {
      ids: `{${id}}`,
      tokens: `{${token}}`,
      charges: "{0}",
      leaseMs: 60_000,
      id,
      token,
      claimedAt: rows[0]?.claimed_at,
    };
    expect((await run(other, renewAllStatement(defaultSchema), values)).rows).toEqual([
      { id, outcome: "locked" },
    ]);
    expect((await run(other, readBackStatement(defaultSchema), values)).rows).toEqual([
      { outcome: "locked" },
    ]);
    expect((await run(other, releaseAllStatement(defaultSchema), values)).rows).toEqual([]);
    await connection.rollback();
    expect((await run(other, renewAllStatement(defaultSchema), values)).rows).toEqual([
      { id, outcome: "extended" },
    ]);
    expect((await run(other, readBackStatement(defaultSchema), values)).rows).toEqual([
      { outcome: "ours" },
    ]);
  });

  test("of two claims that could not see each other, one sees it afterwards", async () => {
    const { source, query } = await open({ max: 2 });
    for (const statement of inboxDdl()) await query(statement);
    const add = (key: string, seconds: number) =>
      query(
        `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, scheduled_at)
         VALUES ('orders', $1::text, 'x', '{}', 'pull', now() - $2::int * interval '1 second')`,
        [key, seconds],
      );
    const claim = claimStatement(defaultSchema, { batchSize: 10 });
    const [first, second] = [await source.connect(), await source.connect()];
    onTestFinished(async () => {
      await first.release();
      await second.release();
    });
    const take = async (connection: Connection, token: string) =>
      (await run<Claimed>(connection, claim, { ...lease, token })).rows[0];
    const look = async (connection: Connection, id: unknown, token: string) =>
      (await run(connection, lookAgainStatement(defaultSchema), { ids: `{${id}}`, token })).rows;
    const tokens = [randomUUID(), randomUUID()] as const;

    await add("later", 10);
    await first.begin();
    const later = await take(first, tokens[0]);
    await add("earlier", 20);
    const earlier = await take(second, tokens[1]);
    expect([later?.idempotency_key, earlier?.idempotency_key]).toEqual(["later", "earlier"]);
    // The second has committed and looks before the first has: it may work.
    expect(await look(second, earlier?.id, tokens[1])).toEqual([]);
    await first.commit();
    expect(await look(first, later?.id, tokens[0])).toEqual([{ id: later?.id }]);
  });

  test.each([
    ["without an aggregate", "NULL", ""],
    [
      "whose leases have ended",
      "'e' || n",
      "state = 'processing', claim_token = gen_random_uuid(), claimed_at = now() - interval '1 hour', lease_expires_at = now() - interval '1 minute'",
    ],
  ])(
    "by aggregate, a free row is found behind a thousand rows %s that others have locked",
    async (_what, aggregate, set) => {
      const { source, query } = await open({ max: 2 });
      for (const statement of inboxDdl({ extraIndexes: true })) await query(statement);
      await query(`INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, scheduled_at)
      SELECT 'orders', 'hot-' || n, 'hot', '{}', 'pull', now() - interval '2 hours' FROM generate_series(1, 100) n`);
      await query(
        `UPDATE inbox SET ${held(3600)} WHERE id = (SELECT id FROM inbox ORDER BY scheduled_at, created_at, id LIMIT 1)`,
      );
      await query(`INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, scheduled_at)
      SELECT 'orders', n::text, ${aggregate}, '{}', 'pull', now() - interval '1 hour' + n * interval '1 second'
      FROM generate_series(1, 1001) n`);
      if (set !== "") await query(`UPDATE inbox SET ${set} WHERE aggregate_id LIKE 'e%'`);
      const [first, second] = [await source.connect(), await source.connect()];
      onTestFinished(async () => {
        await first.rollback();
        await first.release();
        await second.release();
      });
      await first.begin();
      await first.query(
        "SELECT 1 FROM inbox WHERE idempotency_key ~ '^[0-9]+$' AND idempotency_key <> '1001' FOR UPDATE",
      );
      const statement = claimPastByAggregateStatement(defaultSchema, { batchSize: 10 });
      const values = { ...lease, token: randomUUID(), cursor: "" };
      const { rows } = await run<Claimed>(second, statement, values);
      expect(rows.map((row) => row.idempotency_key)).toEqual(["1001"]);
      expect(rows[0]).toMatchObject({ ended: true, expired: set !== "" });
    },
  );

  test.each([
    ["by aggregate", claimPastByAggregateStatement],
    ["in order", claimPastInOrderStatement],
  ] as const)(
    "claims %s never hide free rows: each of eight that overlap gets its ten",
    async (_walk, make) => {
      const { source, query } = await open({ max: 8 });
      for (const statement of inboxDdl({ extraIndexes: true })) await query(statement);
      await query(`INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, scheduled_at)
      SELECT 'orders', n::text, 'a' || n, '{}', 'pull', now() - interval '1 hour' FROM generate_series(1, 200) n`);
      const connections = await Promise.all(Array.from({ length: 8 }, () => source.connect()));
      onTestFinished(async () => {
        for (const connection of connections) await connection.release();
      });
      const seen = new Set<string>();
      for (const connection of connections) {
        await connection.begin();
        const values = { ...lease, token: randomUUID(), cursor: "" };
        const { rows } = await run<Claimed>(
          connection,
          make(defaultSchema, { batchSize: 10 }),
          values,
        );
        for (const row of rows) seen.add(row.id ?? "");
      }
      for (const connection of connections) await connection.rollback();
      expect(seen.size).toBe(80);
    },
  );
});
