import { describe, expect, test } from "vitest";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { type Broker, c, deadLetter, inboxTable, retryAfter } from "../../src/index.ts";
import { testBroker } from "../../src/testing/index.ts";
import { forEachTarget } from "../support/sources.ts";

const HOUR = 3_600_000;

const Jobs = inboxTable("jobs", {
  columns: {
    id: c.bigint().id().generated(),
    queue: c.text().group(),
    attempt: c.smallint().attempt().generated(),
    due: c.timestamp().nullable().retryAfter(),
    lockedUntil: c.timestamp("locked_until").lockedUntil(),
    payload: c.json().payload(),
  },
});
const orders = Jobs.queue("orders");
const mails = Jobs.queue("mails");
const failed = Jobs.queue("failed");

describe("83: a broker in a service's own tests", () => {
  forEachTarget({ connections: "one" }, ({ dialect }, open) => {
    const database = dialect.name;

    const opened = async () => {
      const opened = await open();
      for (const statement of Jobs.ddl(database)) await opened.query(statement);
      return opened;
    };

    /** A source made by hand does not say which database it is. */
    const started = (source: ConnectionSource, setUp: (broker: Broker) => void) =>
      testBroker(source, setUp, { dialect });

    test("publish resolves when all that follows from it is settled, downstream messages included", async () => {
      const { source, query } = await opened();
      await using harness = await started(source, (broker) => {
        broker.subscribe(orders, { transactional: true }, async (order, { tx }) => {
          await mails.insert(tx, { about: order }, { database });
        });
        broker.subscribe(mails, async () => {});
      });
      await harness.publish(orders, { n: 1 });
      expect(harness.messages(orders)).toEqual([{ n: 1 }]);
      expect(harness.messages(mails)).toEqual([{ about: { n: 1 } }]);
      expect(harness.calls(mails)).toMatchObject([
        { attempt: 1, outcome: "ack", error: undefined },
      ]);
      expect((await query("SELECT 1 FROM jobs")).rows).toEqual([]);
    });

    test("advance moves the database's time too: a retry an hour later is worked without a wait", async () => {
      const { source } = await opened();
      await using harness = await started(source, (broker) => {
        broker.subscribe(orders, async (_order, { attempt }) =>
          attempt === 1 ? retryAfter("1h") : undefined,
        );
      });
      await harness.publish(orders, "later");
      expect(harness.calls(orders)).toMatchObject([{ attempt: 1, outcome: "retryAfter" }]);
      await harness.advance("30m");
      expect(harness.calls(orders)).toHaveLength(1);
      await harness.advance("31m");
      expect(harness.calls(orders)).toMatchObject([{ attempt: 1 }, { attempt: 2, outcome: "ack" }]);
    });

    test("a message that is published with a delay comes when time has moved on", async () => {
      const { source } = await opened();
      await using harness = await started(source, (broker) => {
        broker.subscribe(orders, async () => {});
      });
      await harness.publish(orders, "delayed", { delay: HOUR });
      expect(harness.messages(orders)).toEqual([]);
      await harness.advance(HOUR + 1000);
      expect(harness.messages(orders)).toEqual(["delayed"]);
    });

    test("what throws, what is given up and why can be seen", async () => {
      const { source, query } = await opened();
      const boom = new Error("boom");
      await using harness = await started(source, (broker) => {
        broker.subscribe(orders, { maxAttempts: 2, deadLetter: failed }, async (order) => {
          if (order === "bad") return deadLetter("no such address");
          throw boom;
        });
      });
      await harness.publish(orders, "bad");
      await harness.publish(orders, "throws");
      await harness.advance("1h");
      expect(harness.calls(orders)).toMatchObject([
        { message: "bad", outcome: "deadLetter" },
        { message: "throws", attempt: 1, outcome: "retryAfter", error: boom },
        { message: "throws", attempt: 2, outcome: "deadLetter", error: boom },
      ]);
      expect(harness.deadLetters(orders)).toMatchObject([
        { reason: "no such address" },
        { reason: boom },
      ]);
      const { rows } = await query<{ queue: string }>("SELECT queue FROM jobs");
      expect(rows).toEqual([{ queue: "failed" }, { queue: "failed" }]);
    });

    test("what is recorded are copies, of each message of a batch", async () => {
      const { source } = await opened();
      await using harness = await started(source, (broker) => {
        broker.subscribe(orders, { batch: 5 }, async (batch) => {
          for (const order of batch as { n: number }[]) order.n = -1;
        });
      });
      await orders.insert(source, [{ n: 1 }, { n: 2 }], { database });
      await harness.settled();
      expect(harness.messages(orders)).toEqual([{ n: 1 }, { n: 2 }]);
    });

    test("nothing is worked after a stop", async () => {
      const { source, query } = await opened();
      const harness = await started(source, (broker) => {
        broker.subscribe(orders, async () => {});
      });
      await harness.stop();
      await harness.stop();
      await orders.insert(source, "late", { database });
      await harness.settled();
      expect(harness.messages(orders)).toEqual([]);
      expect((await query("SELECT 1 FROM jobs")).rows).toHaveLength(1);
    });
  });
});
