import { describe, expect, onTestFinished, test } from "vitest";
import { isSessionLost } from "../../src/dialect/sqlserver/errors.ts";
import { withConnection } from "../../src/driver/checkout.ts";
import { connectionSourceHint, isConnectionSource } from "../../src/driver/is-connection-source.ts";
import { fromMssql } from "../../src/driver/mssql.ts";
import { until } from "../support/until.ts";
import { mssql, openServer, type PoolConfig, poolConfig } from "./open-server.ts";

const never = new AbortController().signal;

/** Nothing of these tests may reach the process: an unhandled error fails the run by itself. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => {
      throw new Error("it was not rejected");
    },
    (error: unknown) => error,
  );
}

function poolOf(config: PoolConfig = {}) {
  return new mssql.ConnectionPool(poolConfig(1, config));
}

describe("what it is made of", () => {
  test("the module and a pool of it, imported either way", () => {
    expect(fromMssql(mssql, poolOf()).database).toBe("sqlserver");
    const imported = { default: mssql } as unknown as typeof mssql;
    expect(fromMssql(imported, poolOf()).database).toBe("sqlserver");
  });

  test.each([[undefined], [{}], [{ default: {} }], [() => 1]])("%j is no module", (value) => {
    expect(() => fromMssql(value as never, poolOf())).toThrow(
      "takes the module mssql first: fromMssql(sql, pool)",
    );
  });

  test.each([[undefined], [{}], [{ server: "localhost" }]])("%j is no pool", (value) => {
    expect(() => fromMssql(mssql, value as never)).toThrow("takes a pool of mssql second");
  });

  test("a bare pool is no source, and the error says what to do with it", () => {
    expect(isConnectionSource(poolOf())).toBe(false);
    expect(connectionSourceHint(poolOf())).toBe(
      "it is a pool of mssql; wrap it: fromMssql(sql, pool)",
    );
  });

  test("the pool's size is the source's, and the pool's own default where it is not told", () => {
    expect(fromMssql(mssql, poolOf({ pool: { max: 3 } })).max).toBe(3);
    expect(fromMssql(mssql, poolOf({ pool: undefined })).max).toBe(10);
  });
});

describe("settings that a queue cannot work with are refused", () => {
  test.each([
    [{ requestTimeout: 15_000 }, "15000"],
    [{ requestTimeout: 29_999 }, "29999"],
    [{ options: { requestTimeout: 5_000 } }, "5000"],
    [{ timeout: 20_000 }, "20000"],
  ])("%j", (config, shown) => {
    expect(() => fromMssql(mssql, poolOf(config))).toThrow(
      `the pool's requestTimeout takes 30000 milliseconds or more, or 0 for none, not ${shown}`,
    );
  });

  test.each([
    {},
    { requestTimeout: 0 },
    { requestTimeout: 30_000 },
    { requestTimeout: Number.POSITIVE_INFINITY },
  ])("%j is none of them", (config) => {
    expect(fromMssql(mssql, poolOf(config)).database).toBe("sqlserver");
  });

  test("implicit transactions, which nobody would end", () => {
    expect(() =>
      fromMssql(mssql, poolOf({ options: { enableImplicitTransactions: true } })),
    ).toThrow("the pool's options.enableImplicitTransactions takes false, not true");
  });
});

describe("the pool", () => {
  test("is connected at the first use, once for all who wait for it", async () => {
    const { pool, server, source } = await openServer();
    expect(pool.connected).toBe(false);
    const connections = await Promise.all([source.connect(), source.connect(), source.connect()]);
    // One more, by which a pool finds out whether there is a server.
    expect(server.opened).toBe(4);
    await Promise.all(connections.map((connection) => connection.release()));
    expect(pool.available).toBe(3);
  });

  test("is tried again when it could not be connected", async () => {
    const pool = poolOf({ connectionTimeout: 2_000 });
    const source = fromMssql(mssql, pool);
    await rejection(source.connect());
    expect(isSessionLost(await rejection(source.connect()))).toBe(true);
    expect(pool.connected).toBe(false);
  });

  test("is never closed, nor opened again when its owner has closed it", async () => {
    const { pool, source } = await openServer();
    const first = await source.connect();
    await first.release();
    expect(pool.connected).toBe(true);
    await pool.close();
    await rejection(source.connect());
    expect(pool.connected).toBe(false);
  });

  test("gets each connection back once", async () => {
    const { pool, source } = await openServer();
    const connection = await source.connect();
    await connection.release();
    const next = await source.connect();
    await connection.release();
    await connection.release(new Error("late"));
    expect(pool.borrowed).toBe(1);
    await next.query("SELECT 1");
    await next.release();
  });

  test("has one listener of ours, however many sources it has", async () => {
    const pool = poolOf();
    fromMssql(mssql, pool);
    fromMssql(mssql, pool);
    expect(pool.listenerCount("error")).toBe(1);
    // Without one this would end the process.
    expect(pool.emit("error", new Error("an idle connection failed"))).toBe(true);
  });

  test("an abort while it has none to lend gives the connection back that comes late", async () => {
    const { pool, source } = await openServer({ pool: { max: 1 } });
    const first = await source.connect();
    const controller = new AbortController();
    const waiting = rejection(source.connect(controller.signal));
    controller.abort(new Error("nobody waits"));
    expect(String(await waiting)).toContain("nobody waits");
    await first.release();
    await until(() => pool.available === 1 && pool.borrowed === 0);
    await rejection(source.connect(AbortSignal.abort(new Error("too late"))));
  });

  test("a connection that comes back with somebody's transaction open is not worked with", async () => {
    const { pool, server, source } = await openServer({ pool: { max: 1 } });
    await (await source.connect()).release();
    server.answer = ({ text }) => (text === "BEGIN TRAN" ? ["begun"] : undefined);
    await pool.request().batch("BEGIN TRAN");
    const connection = await source.connect();
    await connection.query("SELECT 1");
    expect(server.said.map(({ session }) => session)).toEqual([2, 3]);
    await connection.release();
    await until(() => server.open.size === 1);
  });

  test("connections that are not of tedious are refused, and given back", async () => {
    const given: unknown[] = [];
    const other = {
      connected: true,
      config: {},
      connect: () => Promise.resolve(),
      acquire: () => Promise.resolve({ promises: {} }),
      release: (connection: unknown) => given.push(connection),
      on: () => undefined,
    };
    const error = await rejection(fromMssql(mssql, other).connect());
    expect(String(error)).toContain("import mssql itself, not mssql/msnodesqlv8");
    expect(given).toHaveLength(1);
  });
});

describe("a connection in doubt is closed", () => {
  test("a release with an error ends the session, and its place in the pool is free", async () => {
    const { pool, server, source } = await openServer({ pool: { max: 1 } });
    const connection = await source.connect();
    await connection.begin();
    await connection.release(new Error("in doubt"));
    await until(() => server.open.size === 0);
    const next = await source.connect();
    await next.query("SELECT 1");
    expect(server.said.at(-1)?.session).toBe(3);
    await next.release();
    expect(pool.size).toBe(1);
  });

  test("a release within a transaction does too: the next one would work within that", async () => {
    const { server, source } = await openServer();
    const connection = await source.connect();
    await connection.begin();
    await connection.release();
    await until(() => server.open.size === 0);
    expect(server.texts.filter((text) => text.includes("COMMIT TRANSACTION"))).toEqual([]);
  });

  test("also while a statement runs, which is rejected, and nothing reaches the process", async () => {
    const { server, source } = await openServer();
    server.answer = () => "silence";
    const connection = await source.connect();
    const running = rejection(connection.query("SELECT slow"));
    await until(() => server.said.length === 1);
    await connection.release(new Error("left behind"));
    expect(isSessionLost(await running)).toBe(true);
    await until(() => server.open.size === 0);
  });

  test("what fails in withConnection closes it", async () => {
    const { server, source } = await openServer();
    server.answer = () => [{ error: 208 }];
    await rejection(
      withConnection(source, never, (connection) => connection.query("SELECT nothing")),
    );
    await until(() => server.open.size === 0);
  });

  test("a server that hangs up is an error of whoever waits, and the connection is not lent again", async () => {
    const { server, source } = await openServer();
    server.answer = ({ text }) => (text.includes("COMMIT TRANSACTION") ? "hang up" : undefined);
    const connection = await source.connect();
    await connection.begin();
    // Nobody knows what became of it: no TransactionError, which would say that nothing was committed.
    const error = await rejection(connection.commit());
    expect(isSessionLost(error)).toBe(true);
    await connection.release();
    server.answer = () => undefined;
    const next = await source.connect();
    await next.query("SELECT 1");
    await next.release();
  });

  test("an error of a severity that ends the session closes it too", async () => {
    const { server, source } = await openServer();
    server.answer = () => [{ error: 823, severity: 24 }];
    const connection = await source.connect();
    await rejection(connection.query("SELECT 1"));
    await connection.release();
    await until(() => server.open.size === 0);
  });

  test("sessions that are cut off while they idle, or are lent, reach nobody but who uses them", async () => {
    const { pool, server, source } = await openServer();
    const errors: unknown[] = [];
    pool.on("error", (error) => errors.push(error));
    const lent = await source.connect();
    const idle = await source.connect();
    await idle.release();
    server.cut();
    await until(() => server.open.size === 0);
    expect(isSessionLost(await rejection(lent.query("SELECT 1")))).toBe(true);
    await lent.release();
    const next = await source.connect();
    await next.query("SELECT 1");
    await next.release();
    onTestFinished(() => expect(errors).toEqual([]));
  });
});
