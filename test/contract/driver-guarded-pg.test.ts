import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fromPg } from "../../src/driver/pg.ts";
import { createDatabase, describeOn, type TestDatabase } from "../support/databases.ts";

describeOn("postgres", "the client of pg that an ORM gets", () => {
  let database: TestDatabase;
  let pool: pg.Pool;

  beforeAll(async () => {
    database = await createDatabase();
    pool = new pg.Pool({ connectionString: database.url, max: 2 });
    await database.query("CREATE TABLE t (a int)");
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  /** Runs `use` with a guarded client, commits, and answers what is in the table. */
  async function within(use: (client: pg.PoolClient) => Promise<void>): Promise<unknown[]> {
    await database.query("TRUNCATE t");
    const connection = await fromPg(pool).connect();
    let opening: Promise<void> | undefined;
    const guarded = connection.guardClient?.(() => {
      opening ??= connection.begin();
      return opening;
    });
    if (guarded === undefined) throw new Error("no guarded client");
    try {
      await use(guarded.client as pg.PoolClient);
      await guarded.settled();
      guarded.close(new Error("it is over"));
      await connection.commit();
    } finally {
      await connection.release();
    }
    const { rows } = await database.query<{ a: number }>("SELECT a FROM t ORDER BY a");
    return rows.map(({ a }) => a);
  }

  test("takes queries in every style of calling", async () => {
    const rows = await within(async (client) => {
      await client.query("INSERT INTO t VALUES (1)");
      await client.query("INSERT INTO t VALUES ($1)", [2]);
      await client.query({ text: "INSERT INTO t VALUES ($1)", values: [3] });
      await client.query({ text: "INSERT INTO t VALUES ($1)" }, [4]);
      const arrays = await client.query({ text: "SELECT 1, 2", rowMode: "array" });
      expect(arrays.rows).toEqual([[1, 2]]);
      await new Promise<void>((resolve, reject) => {
        void client.query("INSERT INTO t VALUES ($1)", [5], (error) =>
          error ? reject(error) : resolve(),
        );
      });
      await new Promise<void>((resolve, reject) => {
        void client.query("INSERT INTO t VALUES (6)", (error) =>
          error ? reject(error) : resolve(),
        );
      });
      await client.query("SAVEPOINT s");
      const failed = new Promise((resolve) => {
        void client.query("SELECT nonsense", (error: Error) => resolve(error.message));
      });
      expect(await failed).toContain("nonsense");
      await client.query("ROLLBACK TO s");
      const submitted = client.query(new pg.Query<{ n: number }>("SELECT 7 AS n"));
      const seen: number[] = [];
      submitted.on("row", (row: { n: number }) => seen.push(row.n));
      await new Promise((resolve) => submitted.on("end", resolve));
      expect(seen).toEqual([7]);
    });
    expect(rows).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("nested transactions are savepoints", async () => {
    const rows = await within(async (client) => {
      await client.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
      await client.query("INSERT INTO t VALUES (1)");
      await client.query("start transaction");
      await client.query("INSERT INTO t VALUES (2)");
      await client.query("rollback;");
      await client.query({ text: "BEGIN" });
      await client.query("INSERT INTO t VALUES (3)");
      await expect(client.query("SELECT nonsense")).rejects.toThrow("nonsense");
      await expect(client.query("COMMIT")).rejects.toMatchObject({ code: "25P02" });
      await client.query("ROLLBACK");
      await client.query("INSERT INTO t VALUES (4)");
      await client.query("COMMIT");
      const begun = client.query(new pg.Query("BEGIN"));
      await new Promise((resolve) => begun.on("end", resolve));
      await client.query("INSERT INTO t VALUES (5)");
      const undone = client.query(new pg.Query("ROLLBACK"));
      await new Promise((resolve) => undone.on("end", resolve));
    });
    expect(rows).toEqual([1, 4]);
  });

  test("the outer transaction is out of reach", async () => {
    const rows = await within(async (client) => {
      await client.query("INSERT INTO t VALUES (1)");
      const refused = [
        "COMMIT",
        "ROLLBACK",
        "END",
        "ABORT",
        "SELECT 1; COMMIT",
        "PREPARE TRANSACTION 'x'",
      ];
      for (const text of refused) {
        await expect(client.query(text)).rejects.toMatchObject({ code: "TRANSACTION" });
      }
      await client.query("BEGIN");
      await expect(client.query("COMMIT AND CHAIN")).rejects.toMatchObject({ code: "TRANSACTION" });
      await client.query("COMMIT");
      client.release();
      client.release(true);
      await Reflect.get(client, "end")();
      await client.query("INSERT INTO t VALUES (2)");
    });
    expect(rows).toEqual([1, 2]);
  });

  test("queries that nobody awaits are waited for, in order", async () => {
    const rows = await within(async (client) => {
      void client.query("INSERT INTO t VALUES (1)");
      void client.query("SELECT pg_sleep(0.05)");
      void client.query("BEGIN");
      void client.query("INSERT INTO t VALUES (2)");
      void client.query("COMMIT");
      client.query(new pg.Query("INSERT INTO t VALUES (3)")).on("error", () => {});
    });
    expect(rows).toEqual([1, 2, 3]);
  });

  test("after the end every query is refused, whichever way it is made", async () => {
    let late: pg.PoolClient | undefined;
    await within(async (client) => {
      late = client;
      await client.query("SELECT 1");
    });
    await expect(late?.query("SELECT 1")).rejects.toThrow("it is over");
    const told = await new Promise((resolve) => {
      late?.query("SELECT 1", (error: Error) => resolve(error.message));
    });
    expect(told).toBe("it is over");
    const submitted = late?.query(new pg.Query("SELECT 1"));
    const heard = await new Promise((resolve) => submitted?.on("error", resolve));
    expect(heard).toMatchObject({ message: "it is over" });
  });

  test("it is still a client of pg to who asks, and keeps what is set on it to itself", async () => {
    await within(async (client) => {
      expect(client).toBeInstanceOf(pg.Client);
      Reflect.set(client, "__mine", 1);
      expect(Reflect.get(client, "__mine")).toBe(1);
    });
    const bare = await pool.connect();
    expect(Reflect.get(bare, "__mine")).toBeUndefined();
    bare.release();
  });

  test("a transaction that does not open fails the query", async () => {
    const connection = await fromPg(pool).connect();
    const guarded = connection.guardClient?.(() => Promise.reject(new Error("did not open")));
    const client = guarded?.client as pg.PoolClient;
    await expect(client.query("SELECT 1")).rejects.toThrow("did not open");
    await guarded?.settled();
    await connection.release();
  });
});
