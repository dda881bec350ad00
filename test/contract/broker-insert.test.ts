import fc from "fast-check";
import pg from "pg";
import postgres from "postgres";
import { describe, expect, onTestFinished, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { drop } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { LeaseJobs, LockJobs, openTables, rejection, testBroker } from "../support/broker-table.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { openInbox } from "../support/inbox.ts";
import { emptyPglite } from "../support/pglite.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";
import { work } from "../support/work-inbox.ts";

const TextJobs = inboxTable("text_jobs", {
  columns: { id: c.uuid().id(), payload: c.text().payload() },
});
const ByteJobs = inboxTable("byte_jobs", {
  columns: {
    id: c.integer().id().generated(),
    lease: c.timestamp().lockedUntil().nullable(),
    payload: c.bytes().payload(),
  },
});

/** Until the row is due. */
const MINUTES: Readonly<Record<string, string>> = {
  postgres: "round(extract(epoch FROM due - clock_timestamp()) / 60)",
  mysql: "ROUND(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), due) / 60)",
  sqlite: "round((julianday(due) - julianday('now')) * 1440)",
  sqlserver: "ROUND(DATEDIFF_BIG(millisecond, SYSUTCDATETIME(), due) / 60000.0, 0)",
};

const VALUES = ['a "quoted" text', 7, null, [1, [2]], { a: null, b: "x" }, true, "null", "{}"];

describe("71: writing rows", () => {
  forEachTarget({ connections: "one" }, (_target, open) => {
    test("generated ids come back in order, as their column's type has them; D1: exact", async () => {
      const db = await openTables(open, [LeaseJobs, ByteJobs, TextJobs]);
      expect(await ByteJobs.queue().insert(db.source, ["a", "b", "c"])).toEqual([1, 2, 3]);
      const big = 9007199254740993n;
      expect(await LeaseJobs.insert(db.source, { id: big, grp: "a", payload: 1 })).toBe(big);
      const id = "0189f7e0-0000-7000-8000-000000000001";
      expect(await TextJobs.insert(db.source, { id, payload: "x" })).toBe(id);
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(LeaseJobs.queue("a"), (_, context) => void seen.push(context.id));
      await broker.start();
      await until(() => seen.length === 1);
      expect(seen).toEqual([big]);
    });

    test("72: publish by name follows the routes, and so does a subscription", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.route("signups", LeaseJobs.queue("a")).route("mail.*", LeaseJobs.queue("b"));
      broker.subscribe("signups", (message, { queue }) => void seen.push([queue, message]));
      broker.subscribe("mail.sent", (message, { queue }) => void seen.push([queue, message]));
      await broker.start();
      expect(typeof (await broker.publish("signups", 1))).toBe("bigint");
      await broker.publish("mail.bounced", 2);
      await until(() => seen.length === 2);
      expect(seen).toContainEqual(["a", 1]);
      expect(seen).toContainEqual(["b", 2]);
      expect(String(await rejection(broker.publish("orders", 3)))).toContain(
        'add one with broker.route("orders", queue)',
      );
    });
  });

  forEachTarget({ connections: "one" }, ({ dialect }, open) => {
    const { text } = wordsOf(dialect.name);

    test("O4: a JSON message is never encoded twice, whatever column holds it", async () => {
      const db = await openTables(open, [LeaseJobs, TextJobs, ByteJobs]);
      const { broker } = testBroker(db.source);
      const seen: Record<string, unknown[]> = { a: [], text_jobs: [], byte_jobs: [] };
      const queues = [LeaseJobs.queue("a"), ByteJobs.queue()] as const;
      for (const queue of queues) {
        broker.subscribe(queue, (message, { queue: name }) => void seen[name]?.push(message));
        await queue.insert(db.source, VALUES);
        for (const value of VALUES) await broker.publish(queue, value);
      }
      const stored = (await db.rows(LeaseJobs)).sort((a, b) => Number(a.id) - Number(b.id));
      expect(stored.map(({ payload }) => JSON.parse(payload))).toEqual([...VALUES, ...VALUES]);
      await broker.start();
      await until(() => broker.stats().every(({ settled }) => settled.ack === 16));
      expect(seen).toEqual({
        a: [...VALUES, ...VALUES],
        text_jobs: [],
        byte_jobs: [...VALUES, ...VALUES],
      });
    });

    test("O5: one insert of many rows writes the same as many inserts of one", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const row = fc.record(
        {
          grp: fc.constantFrom("a", "b"),
          attempt: fc.integer({ min: 1, max: 5 }),
          due: fc.option(fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })),
          prio: fc.option(fc.integer({ min: -9, max: 9 })),
          lane: fc.option(fc.string({ unit: "grapheme-ascii" })),
          headers: fc.option(
            fc.dictionary(
              fc.string({ unit: "grapheme-ascii" }),
              fc.string({ unit: "grapheme-ascii" }),
            ),
          ),
          note: fc.option(fc.string({ unit: "grapheme-ascii" })),
          payload: fc.jsonValue().filter((value) => !JSON.stringify(value).includes("\\u0000")),
        },
        { requiredKeys: ["grp", "payload"] },
      );
      const stored = async () => {
        const found = await db.query(
          `SELECT grp, attempt, prio, lane, note, ${text("due")} AS due, ${text("headers")} AS headers,
            ${text("payload")} AS payload FROM lease_jobs ORDER BY id`,
        );
        await db.query("DELETE FROM lease_jobs");
        return found.rows;
      };
      await fc.assert(
        fc.asyncProperty(fc.array(row, { maxLength: 6 }), async (rows) => {
          const ids = await LeaseJobs.insert(db.source, rows);
          expect(ids.length).toBe(rows.length);
          const bulk = await stored();
          for (const one of rows) await LeaseJobs.insert(db.source, one);
          expect(bulk).toEqual(await stored());
        }),
        { numRuns: 25 },
      );
    });

    test("more rows than one statement has parameters for are written all or none", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const rows = Array.from({ length: 8400 }, (_, n) => ({
        grp: "a",
        attempt: 1,
        prio: n,
        lane: "l",
        headers: {},
        reason: null,
        note: `note ${n}`,
        payload: n,
      }));
      const wrong = [...rows.slice(0, -1), { ...rows[0], grp: null as never, payload: 1 }];
      await rejection(LeaseJobs.insert(db.source, wrong));
      const written = await db.query("SELECT count(*) AS n FROM lease_jobs");
      expect(Number(written.rows[0]?.["n"])).toBe(0);
      const ids = await LeaseJobs.insert(db.source, rows);
      expect(new Set(ids).size).toBe(8400);
      const sum = await db.query<{ n: unknown }>(
        "SELECT count(DISTINCT prio) AS n FROM lease_jobs WHERE note IS NOT NULL",
      );
      expect(sum.rows.map(({ n }) => Number(n))).toEqual([8400]);
    });

    test("headers, delay, priority and key go with a message", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      await queue.insert(db.source, [1, 2], {
        headers: { trace: "t" },
        delay: "1h",
        priority: 3,
        key: "k",
      });
      const found = await db.query<{ headers: string; minutes: unknown }>(
        `SELECT ${text("headers")} AS headers, prio, lane, ${MINUTES[dialect.name]} AS minutes
          FROM lease_jobs`,
      );
      const rows = found.rows.map(({ headers, minutes, ...more }) => ({
        ...more,
        headers: JSON.parse(headers),
        minutes: Number(minutes),
      }));
      const row = { headers: { trace: "t" }, prio: 3, lane: "k", minutes: 60 };
      expect(rows).toEqual([row, row]);
    });

    test("wrong options and values are refused by name, and nothing is written", async () => {
      const db = await openTables(open, [LeaseJobs, ByteJobs]);
      const bytes = ByteJobs.queue();
      const jobs = LeaseJobs.queue("a");
      const wrong: [Promise<unknown>, string][] = [
        [
          bytes.insert(db.source, 1, { delay: 5 }),
          "delay takes a table with a column of the role retryAfter",
        ],
        [
          bytes.insert(db.source, 1, { key: "k" }),
          "key takes a table with a column of the role partitionKey",
        ],
        [jobs.insert(db.source, 1, { delay: "5 weeks" as never }), "delay takes milliseconds"],
        [
          jobs.insert(db.source, 1, { headers: { a: 1 as never } }),
          'headers takes texts; "a" is 1',
        ],
        [jobs.insert(db.source, undefined), "a message takes a value, not undefined"],
        [jobs.insert(db.source, 1, { prority: 1 } as never), 'has no option "prority"'],
        [
          LeaseJobs.insert(db.source, { grp: "a", payload: 1, paylod: 2 } as never),
          'lease_jobs has no "paylod"',
        ],
        [
          LeaseJobs.insert(db.source, { grp: "a", payload: 1, attempt: "x" as never }),
          "attempt (column attempt)",
        ],
        [jobs.insert({}, 1, { database: "postgres" } as never), "rows are written through"],
      ];
      for (const [promise, message] of wrong) {
        expect(String(await rejection(promise))).toContain(message);
      }
      expect(await db.rows(LeaseJobs)).toEqual([]);
    });
  });

  forEachSource({ connections: "one" }, (_name, open) => {
    test("71: conn may be the tx of the other door", async () => {
      const inbox = await openInbox(open);
      for (const statement of LeaseJobs.ddl("postgres")) await inbox.query(statement);
      await inbox.insert({ key: "a" }, { key: "fails" });
      const { stop } = work(inbox.source, async ({ idempotencyKey }, tx) => {
        const ids = await LeaseJobs.queue("a").insert(
          tx,
          [{ idempotencyKey }],
          tx.client === undefined ? { database: "postgres" } : {},
        );
        expect(ids).toHaveLength(1);
        if (idempotencyKey === "fails") throw new Error("no stock");
      });
      await until(async () => (await inbox.count("processed")) === 1);
      await stop();
      const { rows } = await inbox.query("SELECT payload::text AS payload FROM lease_jobs");
      expect(rows).toEqual([{ payload: '{"idempotencyKey": "a"}' }]);
    });
  });
});

describe("73: an insert through a handler's tx", () => {
  forEachTarget({ connections: "many" }, (_target, open) => {
    test("is written with the acknowledgement, and wakes after the commit", async () => {
      const db = await openTables(open, [LeaseJobs, LockJobs]);
      const { broker } = testBroker(db.source, { pollIntervalMs: 3_600_000 });
      const next = LeaseJobs.queue("next");
      const seen: unknown[] = [];
      broker.subscribe(next, (message) => void seen.push(message));
      for (const Jobs of [LeaseJobs, LockJobs]) {
        broker.subscribe(
          Jobs.queue("a"),
          { transactional: true, onFailure: { throw: drop() } },
          async (message, { tx }) => {
            await next.insert(tx, [message, message]);
            // The subscription has looked since the insert, and saw nothing of it.
            await broker.publish(next, `beside ${message}`);
            await until(() => seen.includes(`beside ${message}`));
            await until(() => broker.stats()[0]?.state === "resting");
            if (String(message).startsWith("bad")) throw new Error("rolled back");
          },
        );
      }
      await broker.start();
      for (const Jobs of [LeaseJobs, LockJobs]) {
        const { name } = Jobs.description;
        await broker.publish(Jobs.queue("a"), `bad ${name}`);
        await broker.publish(Jobs.queue("a"), `good ${name}`);
        // Polls come once an hour: only a wake-up after the commit finds the rows.
        await until(() => seen.filter((message) => message === `good ${name}`).length === 2);
      }
      await until(() => broker.stats()[0]?.settled.ack === 8);
      expect(seen).not.toContain("bad lease_jobs");
      expect(seen).not.toContain("bad lock_jobs");
      await until(async () => (await db.rows(LeaseJobs)).length === 0);
    });
  });
});

describeOn("postgres", "71: conn is whatever the service has", () => {
  const rows = [{ a: "text" }, "text", null, [1]];

  async function database() {
    const made = await createDatabase();
    onTestFinished(() => made.drop());
    for (const statement of LeaseJobs.ddl("postgres")) await made.query(statement);
    const stored = async () => {
      const { rows: found } = await made.query<{ payload: string }>(
        "SELECT payload::text AS payload FROM lease_jobs ORDER BY id",
      );
      return found.map(({ payload }) => JSON.parse(payload));
    };
    return { ...made, stored };
  }

  test("a pool, a client and a transaction of pg", async () => {
    const db = await database();
    const pool = new pg.Pool({ connectionString: db.url, max: 2 });
    onTestFinished(() => pool.end());
    await LeaseJobs.queue("a").insert(pool, rows);
    expect(await db.stored()).toEqual(rows);
    const client = await pool.connect();
    await client.query("BEGIN");
    await LeaseJobs.queue("a").insert(client, rows);
    await client.query("ROLLBACK");
    client.release();
    expect(await db.stored()).toEqual(rows);
    // Different columns are several statements, all or none of them.
    const mixed = [
      { grp: "a", payload: 1 },
      { grp: "a", payload: 2, note: "n" },
      { grp: "a", payload: 3, id: 1n },
    ];
    await rejection(LeaseJobs.insert(pool, mixed));
    expect(await db.stored()).toEqual(rows);
  });

  test("the sql and a transaction of postgres.js", async () => {
    const db = await database();
    const sql = postgres(db.url, { max: 2 });
    onTestFinished(() => sql.end());
    await LeaseJobs.queue("a").insert(sql, rows, { headers: { a: "b" } });
    await sql
      .begin(async (tx) => {
        await LeaseJobs.queue("a").insert(tx, rows);
        throw new Error("rolled back");
      })
      .catch(() => undefined);
    expect(await db.stored()).toEqual(rows);
    await LeaseJobs.insert(sql, { grp: "a", payload: "p", due: new Date(0), attempt: 2 });
    const due = await db.query(
      "SELECT due = 'epoch' AS due, attempt FROM lease_jobs WHERE attempt = 2",
    );
    expect(due.rows).toEqual([{ due: true, attempt: 2 }]);
  });

  test("a connection source, and a connection with a transaction open", async () => {
    const db = await database();
    const { fromPg } = await import("../../src/driver/pg.ts");
    const pool = new pg.Pool({ connectionString: db.url, max: 2 });
    onTestFinished(() => pool.end());
    const source: ConnectionSource = fromPg(pool);
    const connection = await source.connect();
    await connection.begin();
    await LeaseJobs.queue("a").insert(connection, rows);
    expect(await db.stored()).toEqual([]);
    await connection.commit();
    await connection.release();
    expect(await db.stored()).toEqual(rows);
  });
});

describeOn("pglite", "71: conn is whatever the service has", () => {
  test("a PGlite database, and its transaction", async () => {
    const db = await emptyPglite();
    for (const statement of LeaseJobs.ddl("postgres")) await db.exec(statement);
    const queue = LeaseJobs.queue("a");
    await queue.insert(db, [{ a: 1 }, "text"], { delay: 5 });
    await db.transaction(async (tx) => {
      await queue.insert(tx, [3]);
      await tx.rollback();
    });
    const { rows } = await db.query("SELECT payload::text AS payload FROM lease_jobs ORDER BY id");
    expect(rows).toEqual([{ payload: '{"a": 1}' }, { payload: '"text"' }]);
  });
});
