import { describe, expect, test } from "vitest";
import { Broker, type Columns, c, deadLetter, inboxTable, type Queue } from "../../src/index.ts";
import { forEachTarget } from "../support/sources.ts";
import { eventually } from "../support/work-inbox.ts";

/** A table of each type that a group can have, with two of its groups. */
const GROUPS = {
  smallint: { column: c.smallint().group({ fifo: true }), one: -3, other: 7 },
  integer: { column: c.integer().group({ fifo: true }), one: -3, other: 70_000 },
  bigint: {
    column: c.bigint().group({ fifo: true }),
    one: -9_007_199_254_740_993n,
    other: 9_007_199_254_740_993n,
  },
  uuid: {
    column: c.uuid().group({ fifo: true }),
    one: "00000000-0000-0000-0000-000000000000",
    other: "7b6f0f5c-6a0e-4a3e-9d57-3d0a4f6f7a11",
  },
} as const;

interface UntypedTable {
  queue(group: unknown): Queue;
  everyGroup(): Queue;
  insert(conn: object, rows: readonly object[], options: object): Promise<unknown>;
  ddl(database: string): readonly string[];
}

describe("2: groups of every type that a group column can have", () => {
  forEachTarget({ connections: "one" }, ({ dialect }, open) => {
    const forms = (["rowLock", "lease"] as const).filter((form) =>
      dialect.features.forms.includes(form),
    );
    for (const [type, { column, one, other }] of Object.entries(GROUPS)) {
      for (const form of forms) {
        test(`${type}, ${form}: each group its own queue, every group at once, and dead letters`, async () => {
          const database = await open();
          const columns: Columns = {
            id: c.bigint().id().generated(),
            grp: column,
            ...(form === "lease" && { lease: c.timestamp().lockedUntil() }),
            payload: c.json().payload(),
          };
          // What is known only when the program runs has no types of its own.
          const Jobs = inboxTable("jobs", { columns }) as unknown as UntypedTable;
          for (const statement of Jobs.ddl(dialect.name)) await database.query(statement);
          await Jobs.insert(
            database.source,
            [one, other, other].map((grp, n) => ({ grp, payload: n })),
            { database: dialect.name },
          );

          const seen: unknown[] = [];
          const first = new Broker(database.source, { dialect });
          first.subscribe(Jobs.queue(one), { deadLetter: Jobs.queue(other) }, (message) => {
            seen.push(message);
            return deadLetter();
          });
          await first.start();
          await eventually(() => seen.length === 1);
          await first.stop();
          expect(seen).toEqual([0]);

          const groups: (readonly [unknown, unknown])[] = [];
          const all = new Broker(database.source, { dialect });
          all.subscribe(Jobs.everyGroup(), (message, { group }) => {
            groups.push([group, message]);
          });
          await all.start();
          await eventually(() => groups.length === 3);
          await all.stop();
          expect(groups).toEqual([0, 1, 2].map((n) => [String(other), n]));
          expect((await database.query("SELECT 1 FROM jobs")).rows).toEqual([]);
        });
      }
    }
  });
});
