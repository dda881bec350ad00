import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Connection, Step } from "../../src/driver/connection.ts";
import { fromPg } from "../../src/driver/pg.ts";
import { createDatabase, describeOn, type TestDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";

const BEGIN: Step = { kind: "begin", text: "BEGIN", afterBegin: "SELECT 1" };
const COMMIT: Step = { kind: "commit" };

const query = (text: string, params: readonly unknown[] = [], prepare = false): Step => ({
  kind: "query",
  text,
  params,
  prepare,
});

function run(connection: Connection, ...steps: Step[]) {
  if (connection.pipeline === undefined) throw new Error("the connection does not pipeline");
  return connection.pipeline(steps);
}

describeOn("postgres", "fromPg", () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  function poolOf(config: pg.PoolConfig & { pipeline?: boolean } = {}): pg.Pool {
    const pool = new pg.Pool({ connectionString: database.url, max: 2, ...config });
    const clients = new Set<pg.PoolClient>();
    pool.on("connect", (client) => clients.add(client));
    // Not by pool.end() alone, which waits for ever for what a failed test holds.
    onTestFinished(async () => {
      const ending = pool.end();
      for (const client of clients) Reflect.get(client, "connection")?.stream.destroy();
      await Promise.race([ending, new Promise((resolve) => setTimeout(resolve, 500))]);
    });
    return pool;
  }

  async function pidOf(connection: Connection): Promise<number> {
    const { rows } = await connection.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    const pid = rows[0]?.pid;
    if (pid === undefined) throw new Error("no pid");
    return pid;
  }

  const terminate = (pid: number) => database.query("SELECT pg_terminate_backend($1)", [pid]);

  for (const pipeline of [false, true]) {
    const mode = pipeline ? "pool with pipeline: true" : "plain pool";

    test(`${mode}: a statement that asks for it is prepared once, under one name`, async () => {
      const source = fromPg(poolOf({ pipeline }));
      const connection = await source.connect();
      const text = "SELECT $1::int + 1 AS n";
      for (let i = 0; i < 3; i++) {
        const results = await run(
          connection,
          BEGIN,
          query(text, [i], true),
          query(text, [9], true),
          COMMIT,
        );
        expect(results.map(({ rows }) => rows)).toEqual([[], [{ n: i + 1 }], [{ n: 10 }], []]);
      }
      await run(connection, query("SELECT 'unnamed'"));
      const names = await connection.query("SELECT name, statement FROM pg_prepared_statements");
      expect(names.rows).toEqual([
        { name: expect.stringMatching(/^intray_\w{32}$/), statement: text },
      ]);
      await connection.release();
    });

    test(`${mode}: after an error in a flush each prepared statement still works`, async () => {
      const source = fromPg(poolOf({ pipeline }));
      const connection = await source.connect();
      const divide = query("SELECT 1 / $1::int AS n", [0], true);
      const after = query("SELECT 'never parsed in the failed flush' AS t", [], true);
      await expect(run(connection, BEGIN, divide, after, COMMIT)).rejects.toThrow(
        "division by zero",
      );
      await connection.rollback();
      const bad = query("SELECT nonsense", [], true);
      await expect(run(connection, bad, after)).rejects.toThrow("nonsense");
      for (let i = 0; i < 2; i++) {
        await expect(run(connection, divide)).rejects.toThrow("division by zero");
        expect(await run(connection, after)).toHaveLength(1);
      }
      await connection.release();
    });

    test(`${mode}: a prepared statement that the session forgot or outgrew heals`, async () => {
      const source = fromPg(poolOf({ pipeline }));
      const connection = await source.connect();
      await connection.query("CREATE TEMP TABLE shape (a int)");
      const all = query("SELECT * FROM shape", [], true);
      await run(connection, all);
      await connection.query("DEALLOCATE ALL");
      await expect(run(connection, all)).rejects.toMatchObject({ code: "26000" });
      await run(connection, all);
      await connection.query("ALTER TABLE shape ADD b int");
      await expect(run(connection, all)).rejects.toMatchObject({ code: "0A000" });
      await run(connection, all);
      await connection.release();
    });

    test(`${mode}: flushes and queries made at once are answered in order`, async () => {
      const source = fromPg(poolOf({ pipeline }));
      const connection = await source.connect();
      const answers = await Promise.allSettled([
        run(connection, query("SELECT 1 AS n", [], true)),
        run(connection, query("SELECT 1 / 0 AS n"), query("SELECT 2 AS n", [], true)),
        run(connection, query("SELECT 2 AS n", [], true)),
        connection.query("SELECT 3 AS n"),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([
        "fulfilled",
        "rejected",
        "fulfilled",
        "fulfilled",
      ]);
      await connection.release();
    });

    test(`${mode}: values are converted and parsed as client.query does it`, async () => {
      const pool = poolOf({ pipeline });
      const source = fromPg(pool);
      const connection = await source.connect();
      const text = `SELECT $1::timestamptz AS at, $2::bytea AS bytes, $3::jsonb AS doc, $4::text[] AS list,
        $5::text AS nothing, $6::text AS custom, $7::int8 AS big, $8::date AS day, $9::numeric AS exact`;
      const params = [
        new Date("2001-02-03T04:05:06.789Z"),
        new Uint8Array([1, 2]),
        { a: [1] },
        ["x", null, "y,z"],
        undefined,
        { toPostgres: () => "made" },
        9007199254740993n,
        "2020-02-02",
        "1.10",
      ];
      const [flushed] = await run(connection, query(text, params));
      const plain = await connection.query(text, params);
      expect(flushed).toEqual(plain);
      expect(flushed?.rows).toMatchObject([{ big: "9007199254740993", custom: "made" }]);
      await connection.release();
    });

    test(`${mode}: a step that waits for COPY data fails alone`, async () => {
      const source = fromPg(poolOf({ pipeline }));
      const connection = await source.connect();
      await connection.query("CREATE TEMP TABLE copied (a int)");
      const copy = query("COPY copied FROM STDIN");
      await expect(run(connection, copy)).rejects.toThrow("COPY");
      expect(await run(connection, query("SELECT 1 AS n"))).toHaveLength(1);
      await connection.release();
    });
  }

  test("prepare: false names nothing", async () => {
    const source = fromPg(poolOf(), { prepare: false });
    const connection = await source.connect();
    await run(connection, query("SELECT 1 AS n", [], true));
    expect((await connection.query("SELECT name FROM pg_prepared_statements")).rows).toEqual([]);
    await connection.release();
  });

  test("behind a pooler, which tells another process number, nothing is named", async () => {
    const pool = poolOf({ max: 1 });
    // What a pooler does to the client, as far as the client can see it.
    pool.on("connect", (client) => Reflect.set(client, "processID", 1));
    const connection = await fromPg(pool).connect();
    await run(connection, query("SELECT 1 AS n", [], true));
    expect((await connection.query("SELECT name FROM pg_prepared_statements")).rows).toEqual([]);
    await connection.release();
  });

  test("a client without a wire of its own does not pipeline", async () => {
    const pool = poolOf();
    const source = fromPg({
      connect: async () => {
        const client = await pool.connect();
        return {
          query: (text: string, values?: unknown[]) => client.query(text, values),
          release: (error?: Error | boolean) => client.release(error),
          on: () => {},
          removeListener: () => {},
        };
      },
    });
    const connection = await source.connect();
    expect(connection.pipeline).toBeUndefined();
    expect(source.max).toBeUndefined();
    expect((await connection.query("SELECT 1 AS n")).rows).toEqual([{ n: 1 }]);
    await connection.release();
  });

  test("P1 T13 a session that dies idle, checked out or in a flush harms nobody", async () => {
    const pool = poolOf({ max: 1 });
    const idle: Error[] = [];
    const source = fromPg(pool, { onIdleError: (error) => idle.push(error) });

    const first = await source.connect();
    const idlePid = await pidOf(first);
    await first.release();
    await terminate(idlePid);
    await until(() => idle.length === 1);

    const second = await source.connect();
    const heldPid = await pidOf(second);
    await terminate(heldPid);
    await until(() =>
      second.query("SELECT 1").then(
        () => false,
        () => true,
      ),
    );
    await second.release();

    const third = await source.connect();
    // Watched from the start: it may fail before the statement that kills it is answered.
    const killed = expect(
      run(third, BEGIN, query("SELECT pg_sleep(60)"), COMMIT),
    ).rejects.toThrow();
    const sleeper = await until(async () => {
      const { rows } = await database.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
      );
      return rows[0]?.pid;
    });
    await terminate(sleeper);
    await killed;
    await third.release(new Error("in doubt"));

    const fourth = await source.connect();
    expect(await pidOf(fourth)).not.toBe(heldPid);
    await fourth.release();
    expect(pool.waitingCount).toBe(0);
  });

  test("T3 a connection released with an error is destroyed", async () => {
    const pool = poolOf({ max: 1 });
    const source = fromPg(pool);
    const first = await source.connect();
    const pid = await pidOf(first);
    await first.release(new Error("in doubt"));
    const second = await source.connect();
    expect(await pidOf(second)).not.toBe(pid);
    await second.release();
    await until(async () => {
      const { rows } = await database.query("SELECT 1 FROM pg_stat_activity WHERE pid = $1", [pid]);
      return rows.length === 0;
    });
  });

  test("listeners never pile up on a client or a pool", async () => {
    const pool = poolOf({ max: 1 });
    const source = fromPg(pool);
    const counts = new Set<number>();
    for (let i = 0; i < 5; i++) {
      const connection = await source.connect();
      if (connection.client instanceof pg.Client)
        counts.add(connection.client.listenerCount("error"));
      await connection.release();
      const stop = await source.listen?.("c", { notified() {}, lost() {} });
      await stop?.();
    }
    expect(counts.size).toBe(1);
    const before = pool.listenerCount("error");
    fromPg(pool);
    fromPg(pool);
    expect(pool.listenerCount("error")).toBe(before);
  });

  test("a connection that arrives after its caller gave up goes back", async () => {
    const pool = poolOf({ max: 1 });
    const source = fromPg(pool);
    const controller = new AbortController();
    const opening = source.connect(controller.signal);
    controller.abort(new Error("no longer"));
    await expect(opening).rejects.toThrow("no longer");
    await until(() => pool.idleCount === 1);
  });

  test("N2 a listener whose session is killed hears of it once", async () => {
    const pool = poolOf({ max: 2 });
    const source = fromPg(pool);
    const lost: Error[] = [];
    const stop = await source.listen?.("killed", {
      notified() {},
      lost: (error) => lost.push(error),
    });
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN \"killed\"' AND datname = current_database()",
    );
    await until(() => lost.length > 0);
    await stop?.();
    await until(() => pool.totalCount === 0);
    expect(lost).toHaveLength(1);
  });

  test("N9 a LISTEN that fails leaves nothing open", async () => {
    const pool = poolOf({ max: 1 });
    const source = fromPg(pool);
    // The session is in an aborted transaction, where LISTEN fails.
    pool.on("connect", (client) => void client.query("BEGIN; SELECT 1 / 0").catch(() => {}));
    const listening = source.listen?.("refused", { notified() {}, lost() {} });
    await expect(listening).rejects.toThrow();
    await until(() => pool.totalCount === 0);
  });

  test("a source from the module and a connection string owns its pool", async () => {
    const source = fromPg(pg, database.url, { max: 3 });
    expect(source.max).toBe(3);
    const connection = await source.connect();
    const pid = await pidOf(connection);
    await connection.release();
    await Promise.all([source.close(), source.close()]);
    await until(async () => {
      const { rows } = await database.query("SELECT 1 FROM pg_stat_activity WHERE pid = $1", [pid]);
      return rows.length === 0;
    });
  });
});
