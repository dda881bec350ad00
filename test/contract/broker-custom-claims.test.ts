import { describe, expect, test } from "vitest";
import { inboxHeaders, inboxMessage } from "../../src/broker/inbox-headers.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { Subscription } from "../../src/broker/subscription.ts";
import { c } from "../../src/table/columns.ts";
import type { EventConnection } from "../../src/table/custom-events.ts";
import type { FormName } from "../../src/table/description.ts";
import { openTables, testBroker } from "../support/broker-table.ts";
import { eventWordsOf } from "../support/event-words.ts";
import { Gate } from "../support/gate.ts";
import { forEachTarget, type Target } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

const columns = {
  id: c.bigint().id().generated(),
  grp: c.text().group(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  reason: c.text().nullable(),
  payload: c.json().payload(),
};
const lease = { lease: c.timestamp().lockedUntil().nullable() };

/** The newest first, which no claim of the library does. */
function newestFirstOf(name: string) {
  const { limit, skipLocked, skipLockedHint, value } = eventWordsOf(name);
  return async (
    conn: EventConnection,
    request: { readonly group: string; readonly limit: number },
  ): Promise<bigint[]> => {
    const { rows } = await conn.query<{ id: bigint }>(
      `SELECT id FROM jobs ${skipLockedHint} WHERE grp = ${value("text", 1)} ORDER BY id DESC ${limit(2)} ${skipLocked}`,
      [request.group, String(request.limit)],
    );
    return rows.map(({ id }) => id);
  };
}

function titlesOf(name: string) {
  const { text } = wordsOf(name);
  return async (conn: EventConnection, ids: readonly bigint[]) => {
    const { rows } = await conn.query<{ id: string; payload: string }>(
      `SELECT id, ${text("payload")} AS payload FROM jobs WHERE id IN (${ids.join(", ")}) ORDER BY id DESC`,
    );
    return rows.map((row) => ({ ...row, payload: JSON.stringify(`${row.payload}!`) }));
  };
}

const FORMS = [
  { form: "row lock", columns, of: "rowLock" },
  { form: "lease", columns: { ...columns, ...lease }, of: "lease" },
] as const;
const ADVISORY = { form: "advisory lock", columns, of: "advisoryLock" } as const;

/** Those that the target's database holds rows by. */
function fitting<Of extends { readonly of: FormName }>(
  { dialect }: Target,
  forms: readonly Of[],
): readonly Of[] {
  return forms.filter(({ of }) => dialect.features.forms.includes(of));
}

describe("claims by events of the service's own", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    const { name: database } = target.dialect;
    const newestFirst = newestFirstOf(database);
    const titles = titlesOf(database);
    const forms = fitting(target, FORMS);

    test.each(forms)(
      "66: $form: a claim of its own decides which rows, and in which order",
      async (each) => {
        const Jobs = inboxTable("jobs", {
          columns: each.columns,
          custom: { claim: { [database]: newestFirst } },
        });
        const db = await openTables(open, [Jobs]);
        const { broker } = testBroker(db.source);
        const seen: unknown[] = [];
        broker.subscribe(Jobs.queue("a"), { workers: 1 }, (message, { attempt, group }) => {
          seen.push([message, attempt, group]);
        });
        await Jobs.queue("a").insert(db.source, [1, 2, 3]);
        await Jobs.queue("b").insert(db.source, [4]);
        await broker.start();
        await until(async () => (await db.rows(Jobs)).length === 1);
        await broker.stop();
        expect(seen).toEqual([
          [3, 1, "a"],
          [2, 1, "a"],
          [1, 1, "a"],
        ]);
      },
    );

    test.each(forms)(
      "66: $form: a row that is named twice, by two texts of one id, goes out once",
      async (each) => {
        const Jobs = inboxTable("jobs", {
          columns: { ...each.columns, id: c.decimal().id() },
          custom: { claim: async () => ["1.5", "1.50", "2.25"] },
        });
        const db = await openTables(open, [Jobs]);
        const { broker } = testBroker(db.source);
        const seen: unknown[] = [];
        broker.subscribe(Jobs.queue("a"), { batch: 3 }, (messages) => void seen.push(...messages));
        const row = (id: string) => ({ id, grp: "a", payload: id });
        await Jobs.insert(db.source, [row("1.5"), row("2.25")]);
        await broker.start();
        await until(async () => (await db.rows(Jobs)).length === 0);
        await broker.stop();
        expect(seen).toEqual(["1.5", "2.25"]);
      },
    );

    test.each(forms)(
      "66: $form: rows of a claim of its own go out in batches, too",
      async (each) => {
        const Jobs = inboxTable("jobs", { columns: each.columns, custom: { claim: newestFirst } });
        const db = await openTables(open, [Jobs]);
        const { broker } = testBroker(db.source);
        const seen: unknown[] = [];
        broker.subscribe(
          Jobs.queue("a"),
          { batch: 2 },
          (messages) => void seen.push([...messages]),
        );
        await Jobs.queue("a").insert(db.source, [1, 2, 3]);
        await broker.start();
        await until(async () => (await db.rows(Jobs)).length === 0);
        await broker.stop();
        expect(seen).toEqual([[3, 2], [1]]);
      },
    );

    test.each(fitting(target, [...FORMS, ADVISORY]))(
      "66: $form: a fetch of its own gives the payload, in any order",
      async (each) => {
        const Jobs = inboxTable("jobs", {
          columns: each.columns,
          custom: { fetch: titles },
          ...(each.form === "advisory lock" && { advisoryLock: "job-{id}" }),
        });
        const db = await openTables(open, [Jobs]);
        const { broker } = testBroker(db.source);
        const seen: unknown[] = [];
        broker.subscribe(Jobs.queue("a"), { batch: 3 }, (messages) => void seen.push(...messages));
        await Jobs.queue("a").insert(db.source, [1, 2, 3]);
        await broker.start();
        await until(async () => (await db.rows(Jobs)).length === 0);
        await broker.stop();
        expect(seen).toEqual(["1!", "2!", "3!"]);
      },
    );

    test.each(fitting(target, [...FORMS, ADVISORY]))(
      "68: $form: a row that fetch gives nothing for follows the decode policy, and its neighbours go on",
      async (each) => {
        const Jobs = inboxTable("jobs", {
          columns: each.columns,
          custom: {
            fetch: async (conn: EventConnection, ids: readonly bigint[]) =>
              (await titles(conn, ids)).filter(({ payload }) => payload !== '"2!"'),
          },
          ...(each.form === "advisory lock" && { advisoryLock: "job-{id}" }),
        });
        const db = await openTables(open, [Jobs]);
        const { broker, logger } = testBroker(db.source);
        const seen: unknown[] = [];
        broker.subscribe(Jobs.queue("a"), { batch: 3 }, (messages) => void seen.push(...messages));
        await Jobs.queue("a").insert(db.source, [1, 2, 3]);
        await broker.start();
        await until(async () => (await db.rows(Jobs)).length === 0);
        await broker.stop();
        expect(seen).toEqual(["1!", "3!"]);
        const [line] = logger.of("decode_failed");
        expect(line).toMatchObject({ fields: { attempt: 1, verdict: "drop" } });
        expect(String(line?.fields.error)).toMatch(/"fetch" gave no row/);
      },
    );

    test.each(forms)(
      "67: $form: what a claim or a fetch throws takes the claim back, by its name",
      async (each) => {
        for (const event of ["claim", "fetch"] as const) {
          let calls = 0;
          let subscription: Subscription | undefined;
          const Jobs = inboxTable("jobs", {
            columns: each.columns,
            custom: {
              [event]: async (conn: EventConnection, given: never) => {
                calls += 1;
                if (calls > 1) return await (event === "claim" ? newestFirst : titles)(conn, given);
                // No claim follows before the test has looked.
                subscription?.pause();
                await conn.query("UPDATE jobs SET grp = 'gone'");
                throw new Error("not now");
              },
            } as object,
          });
          const db = await openTables(open, [Jobs]);
          const { broker, logger } = testBroker(db.source);
          const seen: unknown[] = [];
          const queue = Jobs.queue("a");
          subscription = broker.subscribe(queue, (_, { attempt }) => void seen.push(attempt));
          await queue.insert(db.source, [1]);
          await broker.start();
          await until(() => logger.of("claim_failed").length > 0);
          expect(await db.rows(Jobs)).toMatchObject([{ grp: "a", attempt: 1 }]);
          subscription.resume();
          await until(async () => (await db.rows(Jobs)).length === 0);
          await broker.stop();
          expect(seen).toEqual([1]);
          const [line] = logger.of("claim_failed");
          expect(String(line?.fields.error)).toContain("CUSTOM_EVENT");
          expect(String(line?.fields.error)).toMatch(
            `the event "${event}" of jobs failed: not now`,
          );
          await db.query("DROP TABLE jobs; DROP TABLE effects");
        }
      },
    );

    test.each([
      { event: "claim", answered: "1", why: /list of ids/ },
      { event: "claim", answered: [{ id: 1 }], why: /an id is a whole number or its text/ },
      { event: "claim", answered: ["1", "2"], why: /was to claim 1 rows and named 2/ },
      { event: "fetch", answered: undefined, why: /list of rows/ },
      { event: "fetch", answered: [{ payload: 1 }], why: /its column id/ },
    ])(
      "66: what $event answers and must not is an error that says so: $answered",
      async ({ answered, event, why }) => {
        const Jobs = inboxTable("jobs", {
          columns: { ...columns, ...lease },
          custom: { [event]: async () => answered } as object,
        });
        const db = await openTables(open, [Jobs]);
        const { broker, logger } = testBroker(db.source);
        broker.subscribe(Jobs.queue("a"), () => {});
        await Jobs.queue("a").insert(db.source, [1]);
        await broker.start();
        await until(() => logger.of("claim_failed").length > 0);
        await broker.stop();
        expect(String(logger.of("claim_failed")[0]?.fields.error)).toMatch(why);
        expect(await db.rows(Jobs)).toMatchObject([{ attempt: 1 }]);
      },
    );

    test("70: a message's own fetch may join other tables", async () => {
      const Mail = inboxHeaders("mail", {
        columns: {
          id: c.bigint().id().generated(),
          kind: c.text().group(),
          attempt: c.integer().attempt().generated(),
          trace: c.text().nullable(),
          letter: c.bigint(),
          ...lease,
        },
      });
      const letters = {
        subject: c.text(),
        size: c.bigint(),
        sent: c.timestamp(),
        urgent: c.boolean(),
        lines: c.json<string[]>(),
      };
      // Numbers beyond 2^53, and times, as the drivers of MySQL would give them: rounded, in a zone of their own.
      const cells =
        // Two columns of one name are a list of their values to mssql.
        database === "sqlserver"
          ? "m.id, l.subject, CONVERT(varchar(20), l.size) AS size, CONVERT(varchar(33), l.sent, 126) AS sent, l.urgent, l.[lines]"
          : database === "mysql"
            ? "m.id, subject, CAST(size AS CHAR) AS size, CAST(sent AS CHAR) AS sent, urgent, l.`lines`"
            : "l.*, m.id";
      const Letter = inboxMessage({
        headers: Mail,
        columns: letters,
        custom: {
          fetch: async (conn, ids) => {
            const { rows } = await conn.query(
              `SELECT ${cells} FROM mail AS m JOIN letters AS l ON l.id = m.letter
                WHERE m.id IN (${ids.join(", ")})`,
            );
            return rows;
          },
        },
      });
      const Letters = inboxTable("letters", { columns: { ...letters, id: c.bigint().id() } });
      const db = await openTables(open, [Mail, Letters]);
      const sent = new Date("2030-01-02T03:04:05.678Z");
      const text = { subject: "Hello", urgent: true, lines: ["a", "b"] };
      await Letters.insert(db.source, { id: 7n, size: 9007199254740993n, sent, ...text });
      await Mail.insert(db.source, { kind: "letter", trace: "t-1", letter: 7n });
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(
        Letter.queue("letter"),
        (letter, { headers }) => void seen.push(letter, headers),
      );
      await broker.start();
      await until(() => seen.length > 0);
      await broker.stop();
      expect(seen).toEqual([
        {
          subject: "Hello",
          size: 9007199254740993n,
          sent: new Date("2030-01-02T03:04:05.678Z"),
          urgent: true,
          lines: ["a", "b"],
        },
        { trace: "t-1", letter: "7" },
      ]);
    });
  });

  forEachTarget({ connections: "one writer" }, (target, open) => {
    const { name: database } = target.dialect;
    const {
      held,
      limit: limited,
      lock,
      locks,
      random,
      unlock,
      value,
      writeLease,
    } = eventWordsOf(database);

    test.each(fitting(target, FORMS))(
      "66: $form: two brokers whose claim is their own deliver each of 60 rows once",
      async (each) => {
        const Jobs = inboxTable("jobs", {
          columns: each.columns,
          custom: {
            // No lock of its own: what others hold is left out by the library.
            claim: async (conn, { group, limit }) => {
              const { rows } = await conn.query<{ id: string }>(
                `SELECT id FROM jobs WHERE grp = ${value("text", 1)} ORDER BY ${random} ${limited(2)}`,
                [group, String(limit)],
              );
              return rows.map(({ id }) => id);
            },
          },
        });
        const db = await openTables(open, [Jobs]);
        const all = Array.from({ length: 60 }, (_, n) => n);
        await Jobs.queue("a").insert(db.source, all);
        const seen: number[] = [];
        const brokers = [db.source, db.another({ max: 5 })].map((source) => {
          if (source.database === undefined) Object.assign(source, { database });
          const { broker } = testBroker(source);
          broker.subscribe(Jobs.queue("a"), { workers: 3 }, (n) => void seen.push(Number(n)));
          return broker;
        });
        await Promise.all(brokers.map((broker) => broker.start()));
        await until(async () => (await db.rows(Jobs)).length === 0, { deadline: 25_000 });
        await Promise.all(brokers.map((broker) => broker.stop()));
        expect(seen.toSorted((a, b) => a - b)).toEqual(all);
      },
    );

    test("66: extend: an event of its own keeps a lease, and says when it is lost", async () => {
      const calls: { held: Date; until: Date }[] = [];
      const Jobs = inboxTable("jobs", {
        columns: { ...columns, ...lease },
        custom: {
          extend: async (conn, id, held, until) => {
            calls.push({ held, until });
            return await writeLease(conn, id, until, "grp = 'a'");
          },
        },
      });
      const db = await openTables(open, [Jobs]);
      const { broker } = testBroker(db.source);
      const enough = new Gate();
      let deliveries = 0;
      let reason: unknown;
      broker.subscribe(Jobs.queue("a"), { leaseMs: 1500 }, async (message, { signal }) => {
        deliveries += 1;
        if (message === "kept") return await enough.opened;
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        reason = signal.reason;
      });
      await Jobs.queue("a").insert(db.source, ["kept"]);
      await broker.start();
      await until(() => calls.length >= 4);
      enough.open();
      await until(async () => (await db.rows(Jobs)).length === 0);
      expect(deliveries).toBe(1);
      for (const { held, until: end } of calls)
        expect(end.getTime()).toBeGreaterThan(held.getTime());

      await Jobs.queue("a").insert(db.source, ["lost"]);
      await until(() => deliveries === 2);
      await db.query("UPDATE jobs SET grp = 'b'");
      await until(() => reason !== undefined);
      await broker.stop();
      expect(reason).toMatchObject({ code: "LEASE_LOST" });
    });

    test("67: extend: one that throws is a failed renewal, and names itself", async () => {
      let calls = 0;
      const Jobs = inboxTable("jobs", {
        columns: { ...columns, ...lease },
        custom: {
          extend: async (conn, id, _held, until) => {
            calls += 1;
            await writeLease(conn, id, until);
            if (calls === 1) throw new Error("not now");
            return true;
          },
        },
      });
      const db = await openTables(open, [Jobs]);
      const { broker, logger } = testBroker(db.source);
      let deliveries = 0;
      broker.subscribe(Jobs.queue("a"), { leaseMs: 2000 }, async () => {
        deliveries += 1;
        await until(() => calls >= 4);
      });
      await Jobs.queue("a").insert(db.source, ["x"]);
      await broker.start();
      await until(async () => (await db.rows(Jobs)).length === 0);
      await broker.stop();
      expect(deliveries).toBe(1);
      expect(String(logger.of("renewal_failed")[0]?.fields.error)).toMatch(
        'the event "extend" of jobs failed: not now',
      );
    });

    test("66: lock and unlock of its own: a key is in work once across brokers, and a held one hides nobody", async () => {
      const Jobs = inboxTable("jobs", {
        columns: { ...columns, tag: c.text() },
        advisoryLock: "key-{grp}-{tag}",
        custom: { lock, unlock },
      });
      const db = await openTables(open, [Jobs]);
      if (locks !== undefined) await db.query(locks);
      const queue = Jobs.queue("a");
      const gate = new Gate();
      const running = new Map<string, number>();
      let most = 0;
      const seen: string[] = [];
      const brokers = [db.source, db.another({ max: 5 })].map((source) => {
        if (source.database === undefined) Object.assign(source, { database });
        const { broker } = testBroker(source);
        broker.subscribe(queue, { workers: 3 }, async (message, { key }) => {
          const of = String(key);
          running.set(of, (running.get(of) ?? 0) + 1);
          most = Math.max(most, running.get(of) ?? 0);
          if (message === "held") await gate.opened;
          running.set(of, (running.get(of) ?? 0) - 1);
          seen.push(String(message));
        });
        return broker;
      });
      const row = (tag: string) => ({ grp: "a", tag, payload: tag });
      await Jobs.insert(db.source, [...Array.from({ length: 40 }, () => row("held")), row("free")]);
      await Promise.all(brokers.map((broker) => broker.start()));
      await until(() => seen.includes("free"));
      expect(seen).toEqual(["free"]);
      gate.open();
      await until(async () => (await db.rows(Jobs)).length === 0, { deadline: 25_000 });
      await Promise.all(brokers.map((broker) => broker.stop()));
      expect(most).toBe(1);
      expect(seen).toHaveLength(41);
      const { rows } = await db.query<{ held: unknown }>(held(["key-a-held", "key-a-free"]));
      expect(Number(rows[0]?.held)).toBe(0);
    });
  });
});
