import { describe, expect, test } from "vitest";
import { begin } from "../../src/dialect/sqlserver/transactions.ts";
import type { Connection, GuardedClient } from "../../src/driver/connection.ts";
import type { GuardedMssqlTransaction } from "../../src/driver/guarded-mssql-client.ts";
import { TransactionError } from "../../src/errors.ts";
import { until } from "../support/until.ts";
import { mssql, openServer } from "./open-server.ts";

const BEGIN = begin(undefined).text;

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => {
      throw new Error("it was not rejected");
    },
    (error: unknown) => error,
  );
}

/** A handler's client, whose first use opens the transaction. */
async function openGuarded() {
  const { connect, pool, server } = await openServer();
  const connection = await connect();
  let opening: Promise<void> | undefined;
  const guarded = guard(connection, () => {
    opening ??= connection.begin();
    return opening;
  });
  const client = guarded.client as GuardedMssqlTransaction;
  const request = () => new mssql.Request(client);
  return { client, connection, guarded, pool, request, server };
}

function guard(connection: Connection, open: () => Promise<void>): GuardedClient {
  const guarded = connection.guardClient?.(open);
  if (guarded === undefined) throw new Error("it guards no client");
  return guarded;
}

describe("a handler's client is a transaction of mssql", () => {
  test("whose requests run in the handler's transaction, opened by the first", async () => {
    const { client, connection, request, server } = await openGuarded();
    server.answer = ({ text }) =>
      text.startsWith("SELECT") ? [{ columns: { a: "int" }, rows: [[1]] }] : undefined;
    const { recordset } = await request().input("name", "x").query("SELECT @name AS a");
    expect(recordset.map(({ a }) => a)).toEqual([1]);
    await client.request().batch("SELECT 2");
    await connection.query("SELECT 3");
    await connection.commit();
    expect(server.said.map(({ kind, text }) => `${kind} ${text}`).slice(0, 4)).toEqual([
      `batch ${BEGIN}`,
      "call SELECT @name AS a",
      "batch SELECT 2",
      "batch SELECT 3",
    ]);
    expect(new Set(server.said.map(({ session }) => session)).size).toBe(1);
    await connection.release();
  });

  test("requests and queries that are sent together go in their order", async () => {
    const { connection, request, server } = await openGuarded();
    await request().query("SELECT 0");
    await Promise.all([
      request().query("SELECT 1"),
      request().query("SELECT 2"),
      connection.query("SELECT 3"),
      request().query("SELECT 4"),
    ]);
    const [opening, ...texts] = server.texts;
    expect(opening).toBe(BEGIN);
    // A request asks for the connection in its own time.
    expect(texts).toEqual(["SELECT 0", "SELECT 3", "SELECT 1", "SELECT 2", "SELECT 4"]);
  });

  test("an error is the request's, and the client goes on", async () => {
    const { request, server } = await openGuarded();
    server.answer = ({ text }) => (text === "INSERT a" ? [{ error: 2627 }] : undefined);
    expect(await rejection(request().query("INSERT a"))).toMatchObject({ number: 2627 });
    await request().query("INSERT b");
    expect(server.texts.at(-1)).toBe("INSERT b");
  });

  test("nothing runs on it outside of the transaction, once that is over", async () => {
    const { connection, request, server } = await openGuarded();
    server.answer = ({ text }) =>
      text === "INSERT a" ? ["rolled back", { error: 1205, severity: 13 }] : undefined;
    await rejection(request().query("INSERT a"));
    expect(String(await rejection(request().query("INSERT b")))).toContain(
      "an error has rolled the whole transaction back",
    );
    expect(await rejection(connection.query("INSERT c"))).toBeInstanceOf(TransactionError);
    expect(await rejection(connection.commit())).toBeInstanceOf(TransactionError);
    expect(server.texts).toEqual([BEGIN, "INSERT a"]);
  });

  test("a request that is given up puts the connection in doubt", async () => {
    const { connection, request, server } = await openGuarded();
    server.answer = ({ text }) => (text === "SELECT slow" ? "silence" : undefined);
    const slow = rejection(request().query("SELECT slow"));
    await until(() => server.texts.includes("SELECT slow"));
    (connection.client as { requestTimeout(): void }).requestTimeout();
    expect(await slow).toMatchObject({ code: "ETIMEOUT" });
    expect(await rejection(connection.commit())).toBeInstanceOf(TransactionError);
    await connection.rollback();
    await until(() => server.open.size === 0);
  });

  test("a prepared statement, which would keep the connection, is refused", async () => {
    const { client, connection } = await openGuarded();
    const error = await rejection(new mssql.PreparedStatement(client).prepare("SELECT 1"));
    expect(String(error)).toContain("a PreparedStatement is refused here");
    await connection.query("SELECT 1");
  });
});

describe("what would end the transaction does not", () => {
  test.each([
    ["COMMIT", "COMMIT is refused here: the transaction ends with the handler"],
    ["rollback transaction", "ROLLBACK is refused here: the transaction ends with the handler"],
    ["INSERT a; COMMIT TRAN", "COMMIT is refused here: send it as a statement of its own"],
  ])("%s", async (text, message) => {
    const { request, server } = await openGuarded();
    expect(String(await rejection(request().batch(text)))).toContain(message);
    expect(String(await rejection(request().query(text)))).toContain(message);
    await request().query("SELECT 1");
    expect(server.texts).toEqual([BEGIN, "SELECT 1"]);
  });

  test("it has no close, no reset and no release that gives anything back", async () => {
    const { client, pool } = await openGuarded();
    client.release({});
    client.release({});
    expect(pool.borrowed).toBe(1);
    expect(Object.keys(client).toSorted()).toEqual([
      "acquire",
      "begin",
      "commit",
      "config",
      "connected",
      "release",
      "request",
      "rollback",
    ]);
  });

  test("transactions that are begun on it are savepoints, nested as deep as they like", async () => {
    const { client, connection, request, server } = await openGuarded();
    await client.begin();
    await request().query("INSERT a");
    await client.begin();
    await client.rollback();
    await client.commit();
    expect(server.texts).toEqual([
      BEGIN,
      "SAVE TRANSACTION intray_1",
      "INSERT a",
      "SAVE TRANSACTION intray_2",
      "ROLLBACK TRANSACTION intray_2",
      "DECLARE @intray_1 bit",
    ]);
    expect(String(await rejection(client.commit()))).toContain("COMMIT is refused here");
    await connection.commit();
  });

  test("so are those of an ORM's own text", async () => {
    const { request, server } = await openGuarded();
    await request().batch("BEGIN TRANSACTION");
    await request().query("INSERT a");
    await request().query("ROLLBACK TRAN");
    await request().query("SAVE TRANSACTION mine");
    await request().query("ROLLBACK TRANSACTION mine");
    expect(server.texts).toEqual([
      BEGIN,
      "SAVE TRANSACTION intray_1",
      "INSERT a",
      "ROLLBACK TRANSACTION intray_1",
      "SAVE TRANSACTION mine",
      "ROLLBACK TRANSACTION mine",
    ]);
  });
});

describe("the end of the handler", () => {
  test("refuses what is new, and waits for what was sent", async () => {
    const { guarded, request, server } = await openGuarded();
    const sent = request().query("INSERT a");
    // A request asks for the connection in its own time.
    await until(() => server.texts.length > 0);
    guarded.close(new Error("the handler has ended"));
    await guarded.settled();
    expect(server.texts).toEqual([BEGIN, "INSERT a"]);
    await sent;
    expect(String(await rejection(request().query("INSERT b")))).toContain("the handler has ended");
    expect(server.texts).toEqual([BEGIN, "INSERT a"]);
  });

  test("a transaction that cannot be opened is an error of the request", async () => {
    const { connect } = await openServer();
    const failing = guard(await connect(), () => Promise.reject(new Error("no BEGIN")));
    const request = new mssql.Request(failing.client);
    expect(String(await rejection(request.query("SELECT 1")))).toContain("no BEGIN");
    await failing.settled();
  });
});
