import { expect, test } from "vitest";
import type { Connection, ConnectionSource, Step } from "../../src/driver/connection.ts";
import { runSteps } from "../../src/driver/run-steps.ts";
import { forEachSource } from "../support/sources.ts";

const BEGIN: Step = {
  kind: "begin",
  text: "BEGIN ISOLATION LEVEL READ COMMITTED",
  afterBegin: "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
};
const COMMIT: Step = { kind: "commit" };
const ROLLBACK: Step = { kind: "rollback" };

const query = (text: string, params?: readonly unknown[], prepare?: boolean): Step => ({
  kind: "query",
  text,
  ...(params !== undefined && { params }),
  ...(prepare !== undefined && { prepare }),
});

async function using<T>(
  source: ConnectionSource,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await source.connect();
  try {
    return await use(connection);
  } finally {
    await connection.release();
  }
}

forEachSource({ connections: "one" }, (name, open) => {
  const isHandmade = name === "handmade";

  test("O2 results of no, one and several rows have one shape", async () => {
    const { source } = await open();
    await using(source, async (connection) => {
      expect(await connection.query("CREATE TABLE t (a int)")).toEqual({ rows: [], rowCount: 0 });
      const insert = await connection.query("INSERT INTO t VALUES ($1), ($2), ($3)", [1, 2, 3]);
      expect(insert).toEqual({ rows: [], rowCount: 3 });
      const select = await connection.query("SELECT a FROM t WHERE a > $1 ORDER BY a", [1]);
      expect(select).toEqual({ rows: [{ a: 2 }, { a: 3 }], rowCount: 2 });
      const nothing = await connection.query("SELECT a FROM t WHERE a > 9");
      expect(nothing).toEqual({ rows: [], rowCount: 0 });
      const returning = await connection.query("UPDATE t SET a = a RETURNING a");
      expect(returning).toEqual({ rows: [{ a: 1 }, { a: 2 }, { a: 3 }], rowCount: 3 });
      expect((await connection.query("DELETE FROM t WHERE a = 1")).rowCount).toBe(1);
    });
  });

  test.skipIf(isHandmade)("O2 text of several statements answers with the last one", async () => {
    const { source } = await open();
    await using(source, async (connection) => {
      const { rows } = await connection.query(
        "CREATE TABLE s (a int); SELECT 1 AS a; SELECT 2 AS b",
      );
      expect(rows).toEqual([{ b: 2 }]);
    });
  });

  test("D1 a bigint beyond 2^53 is exact both ways", async () => {
    const { source } = await open();
    await using(source, async (connection) => {
      for (const id of ["9007199254740993", 9007199254740993n]) {
        const { rows } = await connection.query<{ id: unknown; same: boolean }>(
          "SELECT $1::bigint AS id, $1::bigint = 9007199254740993 AS same",
          [id],
        );
        expect(String(rows[0]?.id)).toBe("9007199254740993");
        expect(rows[0]?.same).toBe(true);
      }
    });
  });

  test("O4 JSON text is never encoded again", async () => {
    const { source } = await open();
    await using(source, async (connection) => {
      await connection.query("CREATE TABLE j (id int, doc jsonb)");
      const documents = ["abc", "123", 5, null, [1, "a"], { a: [null] }, true, 'quote " and \\'];
      for (const [id, document] of documents.entries()) {
        const json = JSON.stringify(document);
        await connection.query("INSERT INTO j VALUES ($1, $2)", [id, json]);
        await runSteps(connection, [query("INSERT INTO j VALUES ($1, $2)", [id, json], true)]);
      }
      await connection.query("INSERT INTO j VALUES ($1, $2)", [99, { plain: "object" }]);
      await connection.query("INSERT INTO j VALUES ($1, $2)", [100, null]);
      const { rows } = await connection.query("SELECT id, doc FROM j ORDER BY id");
      expect(rows).toEqual([
        ...documents.flatMap((doc, id) => [
          { id, doc },
          { id, doc },
        ]),
        { id: 99, doc: { plain: "object" } },
        { id: 100, doc: null },
      ]);
    });
  });

  test("parameters of every kind mean what they mean to pg", async () => {
    const { source } = await open();
    await using(source, async (connection) => {
      const when = new Date("2024-02-29T12:34:56.789Z");
      const { rows } = await connection.query(
        `SELECT array_to_json($1::text[]) AS texts, array_to_json($2::int[]) AS ints, $3::timestamptz AS at, $4::bool AS yes,
                encode($5::bytea, 'hex') AS bytes, $6::text IS NULL AS nothing, $7::float8 AS f,
                array_to_json($8::uuid[]) AS uuids, cardinality($9::text[]) AS none`,
        [
          ["a", 'q"\\', "{x,y}", ""],
          [1, -2],
          when,
          true,
          Buffer.from([0, 255]),
          undefined,
          1.5,
          ["00000000-0000-0000-0000-00000000000a"],
          [],
        ],
      );
      expect(rows).toEqual([
        {
          texts: ["a", 'q"\\', "{x,y}", ""],
          ints: [1, -2],
          at: when,
          yes: true,
          bytes: "00ff",
          nothing: true,
          f: 1.5,
          uuids: ["00000000-0000-0000-0000-00000000000a"],
          none: 0,
        },
      ]);
    });
  });

  test("steps run in order and each has its result", async () => {
    const { source, query: check } = await open();
    await check("CREATE TABLE t (a int)");
    await using(source, async (connection) => {
      const results = await runSteps(connection, [
        BEGIN,
        query("INSERT INTO t VALUES ($1)", [1], true),
        query("INSERT INTO t SELECT a + 1 FROM t WHERE a = $1", [1]),
        query("SELECT a FROM t ORDER BY a", [], true),
        COMMIT,
        query("SELECT count(*)::int AS n FROM t"),
      ]);
      expect(results.map(({ rowCount }) => rowCount)).toEqual([0, 1, 1, 2, 0, 1]);
      expect(results[3]?.rows).toEqual([{ a: 1 }, { a: 2 }]);
      expect(results[5]?.rows).toEqual([{ n: 2 }]);
      expect(await runSteps(connection, [])).toEqual([]);
    });
    expect((await check("SELECT a FROM t")).rows).toHaveLength(2);
  });

  test("a step runs only if every step before it succeeded", async () => {
    const { source, query: check } = await open();
    await check("CREATE TABLE t (a int PRIMARY KEY)");
    await using(source, async (connection) => {
      for (const prepare of [false, true]) {
        const failing = runSteps(connection, [
          BEGIN,
          query("INSERT INTO t VALUES ($1)", [1], prepare),
          query("INSERT INTO t VALUES ($1)", [1], prepare),
          query("INSERT INTO t VALUES ($1)", [2], prepare),
          COMMIT,
          query("INSERT INTO t VALUES ($1)", [3], prepare),
        ]);
        await expect(failing).rejects.toMatchObject({ code: "23505" });
        await connection.rollback();
        expect((await connection.query("SELECT a FROM t")).rows).toEqual([]);
      }
      const failing = runSteps(connection, [
        query("INSERT INTO nowhere VALUES (1)"),
        query("INSERT INTO t VALUES (4)"),
      ]);
      await expect(failing).rejects.toMatchObject({ code: "42P01" });
      expect((await connection.query("SELECT a FROM t")).rows).toEqual([]);
    });
  });

  test("a failed BEGIN stops everything behind it", async () => {
    const { source, query: check } = await open();
    await check("CREATE TABLE t (a int)");
    await using(source, async (connection) => {
      const failing = runSteps(connection, [
        { kind: "begin", text: "BEGIN ISOLATION LEVEL NONSENSE", afterBegin: "SET NONSENSE" },
        query("INSERT INTO t VALUES (1)"),
        COMMIT,
      ]);
      await expect(failing).rejects.toMatchObject({ code: "42601" });
      await connection.rollback();
      expect((await connection.query("SELECT a FROM t")).rows).toEqual([]);
    });
  });

  test("a value that does not convert stops the steps, and the connection goes on", async () => {
    const { source } = await open();
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    await using(source, async (connection) => {
      const failing = runSteps(connection, [
        query("SELECT 1 AS one", [], true),
        query("SELECT $1::jsonb AS j", [cycle], true),
      ]);
      await expect(failing).rejects.toThrow("circular");
      expect((await connection.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
      const again = await runSteps(connection, [query("SELECT $1::jsonb AS j", ["[1]"], true)]);
      expect(again[0]?.rows).toEqual([{ j: [1] }]);
    });
  });

  test.skipIf(isHandmade)("a COMMIT that was answered with ROLLBACK is an error", async () => {
    const { source } = await open();
    await using(source, async (connection) => {
      await connection.begin();
      await expect(connection.query("SELECT nonsense")).rejects.toThrow();
      await expect(connection.commit()).rejects.toMatchObject({ code: "TRANSACTION" });

      await runSteps(connection, [BEGIN]);
      await expect(connection.query("SELECT nonsense")).rejects.toThrow();
      const failing = runSteps(connection, [COMMIT, query("SELECT 1 AS one")]);
      await expect(failing).rejects.toMatchObject({ code: "TRANSACTION" });
      expect((await connection.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    });
  });

  test("T4 a COMMIT that fails is that error, and nothing stays", async () => {
    const { source, query: check } = await open();
    await check("CREATE TABLE t (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    await using(source, async (connection) => {
      const failing = runSteps(connection, [
        BEGIN,
        query("INSERT INTO t VALUES (1), (1)"),
        COMMIT,
        query("INSERT INTO t VALUES (2)"),
      ]);
      await expect(failing).rejects.toMatchObject({ code: "23505" });
      expect((await connection.query("SELECT a FROM t")).rows).toEqual([]);
    });
  });

  test("steps that roll back leave nothing, and what follows runs", async () => {
    const { source, query: check } = await open();
    await check("CREATE TABLE t (a int)");
    await using(source, async (connection) => {
      const results = await runSteps(connection, [
        BEGIN,
        query("INSERT INTO t VALUES (1)"),
        ROLLBACK,
        query("SELECT a FROM t"),
      ]);
      expect(results[3]?.rows).toEqual([]);
    });
  });

  test("a transaction has the level that was asked for, whatever the session's default", async () => {
    const { source } = await open();
    await using(source, async (connection) => {
      await connection.query("SET default_transaction_isolation = 'serializable'");
      const results = await runSteps(connection, [
        BEGIN,
        query("SHOW transaction_isolation"),
        COMMIT,
      ]);
      expect(results[1]?.rows).toEqual([{ transaction_isolation: "read committed" }]);
      await connection.query("RESET default_transaction_isolation");
    });
  });

  test("T10 releasing twice gives the connection back once", async () => {
    const { source } = await open({ max: 1 });
    const first = await source.connect();
    await first.release();
    if (isHandmade) return;
    await first.release();
    const second = await source.connect();
    await first.release(new Error("late"));
    expect((await second.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await second.release();
  });

  test.skipIf(isHandmade)(
    "T3 a connection left in a transaction does not go to the next one",
    async () => {
      const { source, query: check } = await open({ max: 1 });
      await check("CREATE TABLE t (a int)");
      const first = await source.connect();
      await runSteps(first, [BEGIN, query("INSERT INTO t VALUES (1)")]);
      await expect(first.query("SELECT nonsense")).rejects.toThrow();
      await first.release();
      await using(source, async (connection) => {
        expect((await connection.query("SELECT a FROM t")).rows).toEqual([]);
      });
    },
  );

  test.skipIf(isHandmade)(
    "a caller that gives up leaves the queue, and nothing leaks",
    async () => {
      const { source } = await open({ max: 1 });
      const held = await source.connect();
      const controller = new AbortController();
      const waiting = source.connect(controller.signal);
      const patient = source.connect();
      controller.abort(new Error("no longer"));
      await expect(waiting).rejects.toThrow("no longer");
      await expect(source.connect(AbortSignal.abort(new Error("never")))).rejects.toThrow("never");
      await held.release();
      const served = await patient;
      expect((await served.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
      await served.release();
      await using(source, (connection) => connection.query("SELECT 1"));
    },
  );

  test("a listener hears its own channel, however it is named, until it stops", async () => {
    const { source } = await open();
    if (source.listen === undefined) return;
    const channel = 'Some "Channel"; DROP';
    const heard: string[] = [];
    let wake = () => {};
    const stop = await source.listen(channel, {
      notified: (payload) => {
        heard.push(payload);
        wake();
      },
      lost: (error) => heard.push(`lost ${error.message}`),
    });
    const notify = async (payload: string) => {
      const arrived = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await using(source, (connection) =>
        connection.query("SELECT pg_notify($1, $2)", [channel, payload]),
      );
      return arrived;
    };
    await notify("one");
    await notify("");
    await stop();
    await stop();
    void notify("unheard");
    await using(source, (connection) => connection.query("SELECT 1"));
    expect(heard).toEqual(["one", ""]);
  });
});
