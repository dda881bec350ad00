import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { c, inboxTable } from "../../src/index.ts";
import { createDatabase, describeOn, type TestDatabase } from "../support/databases.ts";
import { describeOnMysql } from "../support/mysql-database.ts";

/** An ORM that writes orders, on a database of the test's. */
export interface InsertCase<Tx extends object> {
  /** Runs in a transaction of the ORM's, whose end is the promise's. */
  transaction(run: (tx: Tx) => Promise<void>): Promise<unknown>;
  /** Writes an order, in the transaction. */
  order(tx: Tx, id: string): Promise<unknown>;
  /** What is in no transaction, and is taken all the same. */
  readonly plain?: object;
  /** What is in no transaction, and is refused. */
  readonly refused?: { readonly conn: () => object; readonly words: string };
  close?(): Promise<unknown>;
}

/** Its ids are beyond what a number holds. */
export const Jobs = inboxTable("jobs", {
  columns: {
    id: c.bigint().id().generated(),
    grp: c.text().group(),
    big: c.bigint().nullable(),
    at: c.timestamp().nullable(),
    bytes: c.bytes().nullable(),
    flag: c.boolean().nullable(),
    note: c.text().nullable(),
    payload: c.json<unknown>().payload(),
  },
});
const queue = Jobs.queue("mails");
const BIG = 9_007_199_254_740_993n;

const rows = [
  {
    grp: "a",
    big: -9_223_372_036_854_775_808n,
    at: new Date("2024-02-29T23:59:59.123Z"),
    bytes: Buffer.from([0, 255, 39, 92, 128]),
    flag: true,
    note: "a :name ? $1 \\' \" \u{1F600}",
    payload: { text: "\\' ?", list: [1, null] },
  },
  {
    grp: "b",
    big: BIG,
    at: new Date("1970-01-01T00:00:00.000Z"),
    bytes: Buffer.alloc(0),
    flag: false,
    note: "2024-02-29T23:59:59.123Z",
    payload: "text",
  },
  // Other columns: a second statement.
  { grp: "", note: "", payload: null },
];

/** What the database says of them. */
const STORED = [
  {
    grp: "a",
    big: "-9223372036854775808",
    at: "1709251199.123",
    bytes: "00FF275C80",
    flag: 1,
    note: "a :name ? $1 \\' \" \u{1F600}",
    payload: { text: "\\' ?", list: [1, null] },
  },
  {
    grp: "b",
    big: String(BIG),
    at: "0.000",
    bytes: "",
    flag: 0,
    note: "2024-02-29T23:59:59.123Z",
    payload: "text",
  },
  { grp: "", big: null, at: null, bytes: null, flag: null, note: "", payload: null },
];

/** Of the ORM, of the driver or of this library. */
const ENDED =
  /has ended|already (committed|complete)|no transaction open|is closed|Transaction API error|Transaction not found/i;

/** Rows of which the last is refused by its id, in a statement of its own. */
const clashing = (id: bigint) => [
  { grp: "a", payload: 1 },
  { grp: "a", payload: 2, id },
];

const DATABASES = {
  postgres: {
    counter: `ALTER TABLE jobs ALTER COLUMN id RESTART WITH ${BIG}`,
    select: `SELECT id::text AS id, grp, big::text AS big, extract(epoch FROM at)::numeric(20, 3)::text AS at,
      upper(encode(bytes, 'hex')) AS bytes, flag::int AS flag, note, payload::text AS payload FROM jobs ORDER BY jobs.id`,
  },
  mysql: {
    counter: `ALTER TABLE jobs AUTO_INCREMENT = ${BIG}`,
    select: `SELECT CAST(id AS CHAR) AS id, grp, CAST(big AS CHAR) AS big,
      CAST(CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at) / 1000000 AS DECIMAL(20, 3)) AS CHAR) AS at,
      HEX(bytes) AS bytes, flag + 0 AS flag, note, CONVERT(payload USING utf8mb4) AS payload FROM jobs ORDER BY jobs.id`,
  },
} as const;

/** The same for every ORM: jobs are written in its own open transaction. */
export function describeInsert<Tx extends object>(
  title: string,
  on: keyof typeof DATABASES,
  open: (url: string) => Promise<InsertCase<Tx>>,
): void {
  const { counter, select } = DATABASES[on];
  const words = `71: insert in a transaction of ${title}`;
  const define = (create: () => Promise<TestDatabase>) => {
    let database: TestDatabase;
    let orm: InsertCase<Tx>;

    beforeAll(async () => {
      database = await create();
      await database.query("CREATE TABLE orders (id VARCHAR(50) PRIMARY KEY, total INTEGER)");
      for (const statement of Jobs.ddl(on)) await database.query(statement);
      await database.query(counter);
      orm = await open(database.url);
    });

    afterAll(async () => {
      await orm?.close?.();
      await database?.drop();
    });

    beforeEach(async () => {
      await database.query("DELETE FROM jobs");
      await database.query("DELETE FROM orders");
    });

    interface Stored {
      readonly id: string;
      readonly payload: string;
    }

    async function stored() {
      const found = await database.query<Stored>(select);
      const orders = await database.query<{ id: string }>("SELECT id FROM orders ORDER BY id");
      return {
        ids: found.rows.map(({ id }) => BigInt(id)),
        jobs: found.rows.map(({ id: _, payload, ...row }) => ({
          ...row,
          payload: JSON.parse(payload),
        })),
        orders: orders.rows.map(({ id }) => id),
      };
    }

    test("rows commit with the ORM's own, exact, and their ids are answered in order", async () => {
      const ids: bigint[] = [];
      await orm.transaction(async (tx) => {
        await orm.order(tx, "1");
        ids.push(...(await Jobs.insert(tx, rows)));
        await orm.order(tx, "2");
        expect(await stored()).toEqual({ ids: [], jobs: [], orders: [] });
      });
      expect(await stored()).toEqual({ ids, jobs: STORED, orders: ["1", "2"] });
      expect(new Set(ids).size).toBe(3);
      for (const id of ids) expect(id).toBeGreaterThanOrEqual(BIG);
    });

    test("a rollback takes them with it", async () => {
      const failing = orm.transaction(async (tx) => {
        await Jobs.insert(tx, rows);
        await queue.insert(tx, "to Ada", { notify: true });
        await orm.order(tx, "1");
        throw new Error("rolled back");
      });
      await expect(failing).rejects.toThrow("rolled back");
      expect(await stored()).toEqual({ ids: [], jobs: [], orders: [] });
    });

    test("messages side by side, and their notification, commit too", async () => {
      await orm.transaction(async (tx) => {
        const ids = await Promise.all([
          queue.insert(tx, ["a", "b"], { notify: true }),
          queue.insert(tx, ["c"]),
        ]);
        expect(new Set(ids.flat()).size).toBe(3);
        await orm.order(tx, "1");
      });
      const { jobs, orders } = await stored();
      expect(jobs.map(({ payload }) => payload).sort()).toEqual(["a", "b", "c"]);
      expect(orders).toEqual(["1"]);
    });

    test("a transaction that has ended is refused, and nothing is written", async () => {
      let leaked: Tx | undefined;
      await orm.transaction(async (tx) => {
        leaked = tx;
        await orm.order(tx, "1");
      });
      await expect(Jobs.insert(leaked ?? {}, rows)).rejects.toThrow(ENDED);
      expect(await stored()).toMatchObject({ jobs: [], orders: ["1"] });
    });

    test("what is in no transaction writes all or none, or is refused by name", async () => {
      const { plain, refused } = orm;
      if (refused !== undefined) {
        await expect(Jobs.insert(refused.conn(), rows)).rejects.toThrow(refused.words);
      }
      if (plain === undefined) {
        expect(refused).toBeDefined();
        expect(await stored()).toMatchObject({ jobs: [] });
        return;
      }
      const ids = await Jobs.insert(plain, rows);
      expect(await stored()).toMatchObject({ ids, jobs: STORED });
      const [id = 0n] = ids;
      await expect(Jobs.insert(plain, clashing(id))).rejects.toThrow();
      expect(await stored()).toMatchObject({ ids, jobs: STORED });
    });
  };
  if (on === "mysql") describeOnMysql(words, define);
  else describeOn(on, words, () => define(createDatabase));
}
