import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { fromPg } from "../../src/driver/pg.ts";
import type { OrmTransaction } from "../../src/integration/transaction-pool.ts";
import type { InboxTransaction } from "../../src/queuebox/index.ts";
import { createDatabase, describeOn, type TestDatabase } from "../support/databases.ts";
import { type OpenedInbox, openInbox } from "../support/inbox.ts";
import { eventually, latch, work } from "../support/work-inbox.ts";

/** An ORM on a handler's transaction, as the tests use it. */
export interface Shop {
  /** One row of `orders`, in the ORM's own way. */
  insert(id: string): Promise<unknown>;
  ids(): Promise<string[]>;
  /** SQL as it is. */
  raw(sql: string): Promise<unknown>;
  /** The ORM's own transaction within the handler's. */
  nested(run: (shop: Shop) => Promise<void>): Promise<unknown>;
  /** The ORM's own ways to end the transaction that it is in, where it has some. */
  readonly ends?: readonly (() => Promise<unknown>)[];
}

/** An ORM of a service: made once, on a database whose `orders` are there. */
export interface OrmCase {
  on(tx: OrmTransaction): Shop;
  /** Ends what the service itself opened. */
  close?(): Promise<void>;
}

export interface OrmTraits {
  /**
   * Whether nested transactions that run side by side are told apart, and refused. Where the ORM sends
   * savepoints of its own they cannot be.
   */
  readonly overlaps?: "refused" | "unseen";
  /** By default a pool of pg. */
  readonly source?: (url: string) => Connected;
}

export interface Connected {
  readonly source: ConnectionSource;
  end(): Promise<void>;
}

/** A handler's transaction as the tests use it, of whichever door. */
export type HandlerTx = Pick<InboxTransaction, "query" | "client">;

/** What has become of the one message. */
export interface Handled {
  readonly state: "processed" | "dead";
  /** Why it failed. */
  readonly lastError: string | null;
}

/** A database with a table `orders`, and whoever works one message on it. */
export interface OrmDatabase {
  readonly url: string;
  query: TestDatabase["query"];
  drop(): Promise<void>;
  handle(source: ConnectionSource, handler: (tx: HandlerTx) => Promise<void>): Promise<Handled>;
}

/** The same for every ORM on PostgreSQL. */
export function describeOrm(
  name: string,
  open: (url: string) => Promise<OrmCase>,
  { overlaps = "refused", source = pgSource }: OrmTraits = {},
): void {
  describeOn("postgres", name, () => ormContract(inboxDatabase, open, { overlaps, source }));
}

/** The tests themselves, in the describe block of their database. */
export function ormContract(
  make: () => Promise<OrmDatabase>,
  open: (url: string) => Promise<OrmCase>,
  { overlaps, source }: Required<OrmTraits>,
): void {
  let database: OrmDatabase;
  let orm: OrmCase;

  beforeAll(async () => {
    database = await make();
    orm = await open(database.url);
  });

  afterAll(async () => {
    await orm?.close?.();
    await database?.drop();
  });

  const ids = async () => {
    const { rows } = await database.query<{ id: string }>("SELECT id FROM orders ORDER BY id");
    return rows.map(({ id }) => id);
  };

  /** Works one message with the handler, and waits for its end. */
  async function handle(handler: (shop: Shop, tx: HandlerTx) => Promise<void>): Promise<Handled> {
    await database.query("DELETE FROM orders");
    const connected = source(database.url);
    onTestFinished(() => connected.end());
    return await database.handle(connected.source, (tx) => handler(orm.on(tx), tx));
  }

  test("its writes commit with the message's completion, on the handler's own connection", async () => {
    const seen: unknown[] = [];
    const row = await handle(async (shop, tx) => {
      await shop.insert("1");
      const { rows } = await tx.query<{ id: string }>("SELECT id FROM orders");
      seen.push(
        rows.map(({ id }) => id),
        await shop.ids(),
        await ids(),
      );
    });
    expect(row).toMatchObject({ state: "processed" });
    expect(seen).toEqual([["1"], ["1"], []]);
    expect(await ids()).toEqual(["1"]);
  });

  test("a throw rolls them back", async () => {
    const row = await handle(async (shop) => {
      await shop.insert("1");
      throw new Error("no stock");
    });
    expect(row).toMatchObject({ state: "dead", lastError: expect.stringContaining("no stock") });
    expect(await ids()).toEqual([]);
  });

  test("its error of a statement fails the message", async () => {
    const row = await handle(async (shop) => {
      await shop.insert("1");
      await shop.insert("1");
    });
    expect(row).toMatchObject({ state: "dead" });
    expect(await ids()).toEqual([]);
  });

  test("a nested transaction that fails rolls back itself alone", async () => {
    const row = await handle(async (shop) => {
      await shop.insert("1");
      await shop.nested(async (inner) => void (await inner.insert("2")));
      const failed = shop.nested(async (inner) => {
        await inner.insert("3");
        throw new Error("only this");
      });
      await expect(failed).rejects.toThrow("only this");
      const clash = shop.nested(async (inner) => void (await inner.insert("1")));
      await expect(clash).rejects.toThrow();
      await shop.insert("4");
    });
    expect(row).toMatchObject({ state: "processed", lastError: null });
    expect(await ids()).toEqual(["1", "2", "4"]);
  });

  test("a nested transaction that succeeded goes with the handler's", async () => {
    const row = await handle(async (shop) => {
      await shop.nested(async (inner) => void (await inner.insert("1")));
      expect(await ids()).toEqual([]);
      throw new Error("late");
    });
    expect(row).toMatchObject({ state: "dead", lastError: expect.stringContaining("late") });
    expect(await ids()).toEqual([]);
  });

  test("it cannot end the handler's transaction", async () => {
    const row = await handle(async (shop) => {
      await shop.insert("1");
      for (const end of ["COMMIT", "ROLLBACK", "SELECT 1; COMMIT"]) {
        await expect(shop.raw(end)).rejects.toThrow();
      }
      for (const end of shop.ends ?? []) await expect(end()).rejects.toThrow(/refused here/);
      expect(await ids()).toEqual([]);
      await shop.insert("2");
    });
    expect(row).toMatchObject({ state: "processed", lastError: null });
    expect(await ids()).toEqual(["1", "2"]);
  });

  test("after the handler's end it is refused", async () => {
    const leaked: { shop?: Shop; tx?: HandlerTx } = {};
    await handle(async (shop, tx) => {
      await shop.insert("1");
      Object.assign(leaked, { shop, tx });
    });
    await expect(leaked.shop?.insert("2")).rejects.toThrow();
    await expect(
      leaked.shop?.nested(async (inner) => void (await inner.insert("3"))),
    ).rejects.toThrow();
    expect(() => leaked.tx && orm.on(leaked.tx)).toThrow(/the handler has ended/);
    expect(await ids()).toEqual(["1"]);
  });

  test.runIf(overlaps === "refused")(
    "nested transactions that overlap fail the message, and never commit by half",
    async () => {
      const row = await handle(async (shop) => {
        const firstWrote = latch();
        const secondWrote = latch();
        const first = shop.nested(async (inner) => {
          await inner.insert("1");
          firstWrote.open();
          await secondWrote.opened;
        });
        await firstWrote.opened;
        const second = shop.nested(async (inner) => {
          await inner.insert("2");
          secondWrote.open();
          await first.catch(() => undefined);
        });
        await Promise.all([first, second]);
      });
      expect(row).toMatchObject({
        state: "dead",
        lastError: expect.stringContaining("two nested transactions of one handler overlapped"),
      });
      expect(await ids()).toEqual([]);
    },
  );

  test("refuses what is no transaction of its driver", () => {
    expect(() => orm.on({ client: {} })).toThrow(TypeError);
    expect(() => orm.on({ client: undefined })).toThrow(/takes a handler's transaction/);
  });
}

/** A QueueBox inbox beside the orders. */
async function inboxDatabase(): Promise<OrmDatabase> {
  const database = await createDatabase();
  await database.query("CREATE TABLE orders (id text PRIMARY KEY, total integer)");
  return {
    ...database,
    async handle(source, handler) {
      await database.query("DROP TABLE IF EXISTS inbox, effects");
      const inbox: OpenedInbox = await openInbox(async () => ({
        source,
        dialect: "postgres",
        url: database.url,
        query: (text, params) => database.query(text, params),
        endSessions: (which) => database.endSessions(which),
        another: () => source,
        close: async () => {},
      }));
      await inbox.insert({ key: "a" });
      const { logger, stop } = work(inbox.source, (_message, tx) => handler(tx), {
        retryPolicy: () => ({ retry: false }),
      });
      await eventually(async () => (await inbox.count("processed")) + (await inbox.count("dead")));
      await stop();
      const errors = logger.lines.filter(({ level }) => level === "error");
      expect(errors.filter(({ fields }) => fields.event !== "dead")).toEqual([]);
      const { lastError, state } = await inbox.row("a");
      return { state: state === "processed" ? "processed" : "dead", lastError: lastError ?? null };
    },
  };
}

function pgSource(url: string): Connected {
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  return { source: fromPg(pool), end: () => pool.end() };
}
