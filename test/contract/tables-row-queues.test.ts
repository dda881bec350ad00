import { describe, expect, test } from "vitest";
import { inboxHeaders, inboxMessage } from "../../src/broker/inbox-headers.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, rejection, testBroker } from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const Orders = inboxTable("row_orders", {
  columns: {
    id: c.bigint().id().generated(),
    shop: c.integer().group({ fifo: true }),
    due: c.timestamp().retryAfter().nullable(),
    prio: c.integer().priority().nullable(),
    lease: c.timestamp().lockedUntil().nullable(),
    total: c.integer(),
  },
});

describe("71: the queue of a table whose messages are its rows", () => {
  forEachTarget({ connections: "one" }, (_target, open) => {
    test("writes rows with its group, and what the options say", async () => {
      const db = await openTables(open, [Orders]);
      const queue = Orders.queue(7);
      expect(await queue.insert(db.source, { total: 1 })).toBe(1n);
      const rows = [{ total: 2, shop: 7 }, { total: 3 }];
      expect(await queue.insert(db.source, rows, { delay: "1h" })).toEqual([2n, 3n]);
      const { broker } = testBroker(db.source);
      expect(await broker.publish(queue, { total: 4, prio: 1 })).toBe(4n);
      const found = await db.query(
        `SELECT shop, total, prio, ${db.later} AS later FROM row_orders ORDER BY id`,
      );
      const stored = found.rows.map((row) => ({ ...row, later: row.later && Boolean(row.later) }));
      expect(stored).toEqual([
        { shop: 7, total: 1, prio: null, later: null },
        { shop: 7, total: 2, prio: null, later: true },
        { shop: 7, total: 3, prio: null, later: true },
        { shop: 7, total: 4, prio: 1, later: null },
      ]);
      const seen: unknown[] = [];
      broker.subscribe(Orders.everyGroup(), ({ total }, { group }) => void seen.push(total, group));
      await broker.start();
      await until(() => seen.length === 4);
      expect(seen).toEqual([4, "7", 1, "7"]);
    });

    test("refuses what it cannot write by name, and writes nothing", async () => {
      const db = await openTables(open, [Orders]);
      const queue = Orders.queue(7);
      const Mail = inboxHeaders("row_mail", {
        columns: { id: c.bigint().id(), kind: c.text().group() },
      });
      const messages: object = inboxMessage({ headers: Mail, columns: { to: c.text() } }).queue(
        "a",
      );
      const { broker } = testBroker(db.source);
      const wrong: [() => Promise<unknown>, string][] = [
        [
          () => queue.insert(db.source, { total: 1, shop: 8 }),
          "insert into 7: the row has shop 8, and it is to be 7: leave it out of the row",
        ],
        [
          () => queue.insert(db.source, { total: 1, prio: 1 }, { priority: 2 }),
          "the row has prio 1, and it is to be 2",
        ],
        [
          () => queue.insert(db.source, { total: 1, due: new Date() }, { delay: 5 }),
          "the row has due",
        ],
        [() => queue.insert(db.source, "x" as never), "row_orders takes rows as objects, not"],
        [() => queue.insert(db.source, [["x"]] as never), "row_orders takes rows as objects, not"],
        [() => queue.insert(db.source, { total: 1, tot: 2 } as never), 'row_orders has no "tot"'],
        [
          () => broker.publish(Orders.everyGroup(), { total: 1 } as never),
          "row_orders is every group of row_orders: write to the queue of one group",
        ],
        [
          () => Reflect.get(messages, "insert").call(messages, db.source, { to: "a" }),
          "row_mail is written with the insert of its headers table",
        ],
      ];
      for (const [insert, message] of wrong) {
        expect(String(await rejection(insert()))).toContain(message);
      }
      expect((await db.query("SELECT 1 FROM row_orders")).rows).toEqual([]);
    });
  });
});
