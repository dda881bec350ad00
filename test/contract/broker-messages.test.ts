import { describe, expect, test } from "vitest";
import { z } from "zod";
import { inboxHeaders, inboxMessage } from "../../src/broker/inbox-headers.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { c } from "../../src/table/columns.ts";
import { EFFECT, LeaseJobs, openTables, testBroker } from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

describe("what handlers get", () => {
  forEachTarget({ connections: "one" }, (_target, open) => {
    test("54: a Standard Schema makes the message, and types it", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const signups = LeaseJobs.queue("signups", {
        payload: z.object({ email: z.email(), at: z.coerce.date() }),
      });
      const { broker, logger } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(signups, ({ email, at }) => void seen.push([email, at.getTime()]));
      await broker.publish(signups, { email: "ada@example.com", at: "1970-01-01T00:00:01Z" });
      await broker.publish(signups, { email: "nobody", at: 0 });
      await broker.start();
      await until(() => broker.stats()[0]?.settled.drop === 1);
      await until(() => seen.length === 1);
      expect(seen).toEqual([["ada@example.com", 1000]]);
      expect(logger.of("decode_failed")[0]?.fields.error).toContain(
        "the payload does not fit its schema: email",
      );
    });

    test("20, D2: a codec gets the stored bytes as they are: invalid UTF-8, NUL, empty", async () => {
      const Raw = inboxTable("raw_jobs", {
        columns: {
          id: c.bigint().id().generated(),
          lease: c.timestamp().lockedUntil().nullable(),
          payload: c.bytes().payload(),
        },
      });
      const db = await openTables(open, [Raw]);
      const raw = Raw.queue({
        payload: { decode: (stored: Uint8Array) => stored, encode: (bytes: Uint8Array) => bytes },
      });
      const { broker } = testBroker(db.source);
      const seen: string[] = [];
      broker.subscribe(raw, (bytes) => void seen.push(Buffer.from(bytes).toString("hex")));
      const sent = [Buffer.from([0xff, 0x00, 0xfe]), Buffer.alloc(0), Buffer.from("é")];
      await raw.insert(db.source, sent);
      await broker.start();
      await until(() => seen.length === 3);
      expect(seen).toEqual(sent.map((bytes) => bytes.toString("hex")));
    });

    test("D2: a codec on a JSON column gets its text, past what a number holds", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const text = LeaseJobs.queue("a", {
        payload: { decode: (stored: string) => stored, encode: (json: string) => json },
      });
      const { broker } = testBroker(db.source);
      const seen: string[] = [];
      broker.subscribe(text, (json) => void seen.push(json));
      await text.insert(db.source, '{"n": 9007199254740993}');
      await broker.start();
      await until(() => seen.length === 1);
      expect(seen).toEqual(['{"n": 9007199254740993}']);
    });

    test("54: a table without a payload column hands out its rows", async () => {
      const Orders = inboxTable("orders", {
        casing: "snake_case",
        columns: {
          orderId: c.bigint().id().generated(),
          totalCents: c.integer(),
          paid: c.boolean(),
          placedAt: c.timestamp(),
          price: c.decimal(),
          note: c.text().nullable(),
          picture: c.bytes().nullable(),
          leaseEnd: c.timestamp().lockedUntil().nullable(),
        },
      });
      const db = await openTables(open, [Orders]);
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(Orders.queue(), ({ leaseEnd, ...order }) => {
        const picture = order.picture && Buffer.from(order.picture).toString();
        // A column of MySQL's has a number of digits, and fills them up.
        seen.push({ ...order, picture, price: order.price.replace(/0+$/, "") });
      });
      const placedAt = new Date("2024-02-29T12:00:00.123Z");
      await broker.publish(Orders.queue(), {
        totalCents: 5,
        paid: true,
        placedAt,
        price: "12345678901234567890.01",
        picture: Buffer.from("png"),
      });
      await broker.start();
      await until(() => seen.length === 1);
      expect(seen).toEqual([
        {
          orderId: 1n,
          totalCents: 5,
          paid: true,
          placedAt,
          price: "12345678901234567890.01",
          note: null,
          picture: "png",
        },
      ]);
    });

    test("70: columns of a headers table are headers under their names, the message its own columns", async () => {
      const Events = inboxHeaders("events", {
        columns: {
          id: c.bigint().id().generated(),
          topic: c.text().group(),
          lease: c.timestamp().lockedUntil().nullable(),
          traceId: c.text("trace_id"),
          size: c.bigint(),
          urgent: c.boolean(),
          sentAt: c.timestamp("sent_at"),
          missing: c.text().nullable(),
        },
      });
      const Signup = inboxMessage({
        headers: Events,
        columns: { id: c.bigint().id(), email: c.text("e_mail") },
      });
      const db = await openTables(open, [Events]);
      await db.query("ALTER TABLE events ADD e_mail varchar(50) DEFAULT 'ada@example.com'");
      const { broker } = testBroker(db.source, { pollIntervalMs: 3_600_000 });
      const seen: unknown[] = [];
      broker.subscribe(Signup.queue("signups"), (signup, { headers }) => {
        seen.push(signup, headers);
      });
      await broker.start();
      // Polls come once an hour: the insert through the headers table wakes its messages' queue.
      await Events.insert(db.source, {
        topic: "signups",
        traceId: "t-1",
        size: 9007199254740993n,
        urgent: true,
        sentAt: new Date(0),
      });
      await until(() => seen.length === 2);
      expect(seen).toEqual([
        { id: 1n, email: "ada@example.com" },
        {
          trace_id: "t-1",
          size: "9007199254740993",
          urgent: "1",
          sent_at: "1970-01-01T00:00:00.000Z",
        },
      ]);
    });

    test("48: workersByKey works rows of one key in order, others beside them", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const { broker } = testBroker(db.source);
      const gate = new Gate();
      const seen: unknown[] = [];
      broker.subscribe(queue, { workersByKey: 2 }, async (message) => {
        if (message === "slow-0") await gate.opened;
        seen.push(message);
      });
      for (const n of [0, 1, 2]) await queue.insert(db.source, `slow-${n}`, { key: "slow" });
      await queue.insert(db.source, ["quick-0", "quick-1"], { key: "quick" });
      await broker.start();
      await until(() => seen.length === 2);
      gate.open();
      await until(() => seen.length === 5);
      expect(seen).toEqual(["quick-0", "quick-1", "slow-0", "slow-1", "slow-2"]);
    });

    test("50: a line of the handler's own carries the delivery, redacted", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const { broker, logger } = testBroker(db.source);
      broker.subscribe(queue, (_, { log }) => {
        log.info("connected to postgres://ada:secret@db/app", { step: 1 });
      });
      await queue.insert(db.source, 1);
      await broker.start();
      await until(() => logger.of("handler").length === 1);
      expect(logger.of("handler")).toMatchObject([
        { level: "info", fields: { queue: "a", attempt: 1, step: 1, id: 1n } },
      ]);
      expect(logger.of("handler")[0]?.message).not.toContain("secret");
    });
  });

  // Only foreign keys can be deferred on SQLite.
  forEachSource({ connections: "one" }, (_name, open) => {
    test("T4: a commit that fails is a failure of the handler, retried by the policy", async () => {
      const db = await openTables(open, [LeaseJobs]);
      await db.query(
        "ALTER TABLE effects ADD CONSTRAINT one UNIQUE (what) DEFERRABLE INITIALLY DEFERRED",
      );
      const queue = LeaseJobs.queue("a");
      const { broker, logger } = testBroker(db.source);
      let calls = 0;
      broker.subscribe(
        queue,
        { transactional: true, retry: { baseDelayMs: 0 } },
        async (_, { tx }) => {
          calls += 1;
          await tx.query(EFFECT, ["x"]);
          if (calls === 1) await tx.query(EFFECT, ["x"]);
        },
      );
      await queue.insert(db.source, 1);
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      expect(calls).toBe(2);
      expect(await db.effects()).toEqual(["x"]);
      expect(logger.of("retried")[0]?.fields.error).toContain("duplicate key");
    });
  });
});
