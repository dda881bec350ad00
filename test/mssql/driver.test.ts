import { describe, expect, test } from "vitest";
import {
  endsTransaction,
  isSessionLost,
  isTransient,
  serverNumbers,
} from "../../src/dialect/sqlserver/errors.ts";
import { begin, READ_COMMITTED } from "../../src/dialect/sqlserver/transactions.ts";
import { runSteps } from "../../src/driver/run-steps.ts";
import { TransactionError } from "../../src/errors.ts";
import { until } from "../support/until.ts";
import { openServer, type PoolConfig } from "./open-server.ts";

const BEGIN = begin(undefined).text;

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => {
      throw new Error("it was not rejected");
    },
    (error: unknown) => error,
  );
}

describe("parameters are sent with a type that holds them whole", () => {
  test.each([
    ["a string", "a", "nvarchar(8000)", "a", "nvarchar(4000)"],
    [
      "the longest of a length of its own",
      "ä".repeat(4000),
      "nvarchar(8000)",
      "ä".repeat(4000),
      "nvarchar(4000)",
    ],
    ["a longer one", "ä".repeat(4001), "nvarchar(max)", "ä".repeat(4001), "nvarchar(max)"],
    ["an empty one", "", "nvarchar(8000)", "", "nvarchar(4000)"],
    ["null", null, "nvarchar(8000)", null, "nvarchar(4000)"],
    ["undefined", undefined, "nvarchar(8000)", null, "nvarchar(4000)"],
    ["a whole number", -(2 ** 31), "int", -(2 ** 31), "int"],
    ["a larger one", 2 ** 31, "bigint", 2n ** 31n, "bigint"],
    ["the largest that is exact", Number.MAX_SAFE_INTEGER, "bigint", 9007199254740991n, "bigint"],
    ["one that is not", 2 ** 60, "float", 2 ** 60, "float"],
    ["a fraction", 0.1, "float", 0.1, "float"],
    ["a bigint", 9223372036854775807n, "bigint", 9223372036854775807n, "bigint"],
    ["the least bigint", -9223372036854775808n, "bigint", -9223372036854775808n, "bigint"],
    ["one past 64 bits", 2n ** 63n, "nvarchar(8000)", "9223372036854775808", "nvarchar(4000)"],
    ["true", true, "bit", true, "bit"],
    ["false", false, "bit", false, "bit"],
    [
      "a time",
      new Date("2026-03-04T05:06:07.089Z"),
      "datetime2(7)",
      "2026-03-04T05:06:07.089Z",
      "datetime2(7)",
    ],
    ["bytes", Buffer.from([0, 255]), "varbinary(max)", Buffer.from([0, 255]), "varbinary(max)"],
    [
      "other bytes",
      new Uint8Array([9, 1, 2]).subarray(1),
      "varbinary(max)",
      Buffer.from([1, 2]),
      "varbinary(max)",
    ],
    ["no bytes", new Uint8Array(), "varbinary(max)", Buffer.alloc(0), "varbinary(max)"],
  ] as const)("%s", async (_what, value, type, received, declared) => {
    const { connect, server } = await openServer();
    const connection = await connect();
    await connection.query("SELECT @p1, @p2", [value, 7]);
    const [said] = server.said;
    expect(said).toMatchObject({ kind: "call", declared: `@p1 ${declared}, @p2 int` });
    expect(said?.params).toEqual([
      { name: "@p1", type, value: received },
      { name: "@p2", type: "int", value: 7 },
    ]);
  });

  test.each([
    ["NaN", Number.NaN, "NaN"],
    ["infinity", Number.POSITIVE_INFINITY, "Infinity"],
    ["an invalid Date", new Date(Number.NaN), "an invalid Date"],
    ["an array", [1], "an array"],
    ["an object", { a: 1 }, "an object"],
    ["a function", () => 1, "a function"],
    ["a symbol", Symbol("s"), "a symbol"],
  ])(
    "%s is refused by its place, and the connection is as good as before",
    async (_what, value, shown) => {
      const { connect, pool, server } = await openServer();
      const connection = await connect();
      const error = await rejection(connection.query("SELECT @p1, @p2", [1, value]));
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).toContain(`parameter 2 is ${shown}; it takes null, a string,`);
      expect(server.said).toEqual([]);
      await connection.query("SELECT 1");
      await connection.release();
      expect(pool.available).toBe(1);
    },
  );
});

describe("what is answered", () => {
  test("ids of 64 bits are exact", async () => {
    const { connect, server } = await openServer();
    server.answer = () => [{ columns: { id: "bigint" }, rows: [["9223372036854775807"]] }];
    const { rows } = await (await connect()).query<{ id: unknown }>("SELECT id FROM t");
    expect(rows.map(({ id }) => String(id))).toEqual(["9223372036854775807"]);
  });

  test.each(["batch", "call"] as const)(
    "rows are those of the last statement that has any columns (%s)",
    async (kind) => {
      const { connect, server } = await openServer();
      server.answer = () => [
        { columns: { a: "int" }, rows: [[1], [2]] },
        { changed: 5 },
        { columns: { b: "nvarchar" }, rows: [["x"]] },
        "uncounted",
      ];
      const connection = await connect();
      const result = await connection.query("...", kind === "batch" ? [] : [1]);
      expect(server.said[0]?.kind).toBe(kind);
      expect(result).toEqual({ rows: [{ b: "x" }], rowCount: 1 });
    },
  );

  test.each(["batch", "call"] as const)(
    "no rows of a statement with columns are none (%s)",
    async (kind) => {
      const { connect, server } = await openServer();
      server.answer = () => [{ changed: 3 }, { columns: { b: "int" }, rows: [] }];
      const connection = await connect();
      expect(await connection.query("...", kind === "batch" ? [] : [1])).toEqual({
        rows: [],
        rowCount: 0,
      });
    },
  );

  test.each(["batch", "call"] as const)(
    "without columns the count is the last statement's, behind those of its triggers (%s)",
    async (kind) => {
      const { connect, server } = await openServer();
      server.answer = () => [{ changed: 9 }, { changed: 2 }, "uncounted"];
      const connection = await connect();
      expect(await connection.query("...", kind === "batch" ? [] : [1])).toEqual({
        rows: [],
        rowCount: 2,
      });
    },
  );

  test("a statement without a count or rows changed nothing that is known", async () => {
    const { connect, server } = await openServer();
    server.answer = () => ["uncounted"];
    expect(await (await connect()).query("...")).toEqual({ rows: [], rowCount: 0 });
  });

  test("the pool's own modes of reading do not reach it", async () => {
    const { connect, server } = await openServer({ arrayRowMode: true, stream: true });
    server.answer = () => [{ columns: { a: "int" }, rows: [[1]] }];
    expect(await (await connect()).query("...")).toEqual({ rows: [{ a: 1 }], rowCount: 1 });
  });

  test("more than a packet comes whole, both ways", async () => {
    const { connect, server } = await openServer();
    const text = "ü".repeat(30_000);
    server.answer = ({ params }) => [
      { columns: { part: "nvarchar" }, rows: [[String(params[0]?.value).slice(0, 3000)]] },
    ];
    const { rows } = await (await connect()).query<{ part: string }>("SELECT @p1", [text]);
    expect(server.said[0]?.params[0]?.value).toBe(text);
    expect(rows).toEqual([{ part: text.slice(0, 3000) }]);
  });

  test("an error tells the server's number, and what came before it", async () => {
    const { connect, server } = await openServer();
    server.answer = () => [{ error: 1205, severity: 13 }, { error: 266 }];
    const connection = await connect();
    const error = await rejection(connection.query("..."));
    expect(serverNumbers(error).toSorted()).toEqual([1205, 266]);
    expect(isTransient(error)).toBe(true);
    expect(isSessionLost(error)).toBe(false);
  });
});

describe("nothing depends on what the session had before", () => {
  test("a statement of its own says the level; each puts NOCOUNT off, whatever a handler's text did", async () => {
    const { connect, server } = await openServer();
    const connection = await connect();
    await connection.query("UPDATE t SET a = 1");
    await connection.query("UPDATE t SET a = @p1", [1]);
    await connection.begin();
    await connection.query("SET NOCOUNT ON");
    await connection.query("UPDATE t SET a = @p1", [1]);
    await connection.commit();
    expect(server.said.slice(0, 5).map(({ before, text }) => [before, text])).toEqual([
      [`SET NOCOUNT OFF; ${READ_COMMITTED}; `, "UPDATE t SET a = 1"],
      [`SET NOCOUNT OFF; ${READ_COMMITTED}; `, "UPDATE t SET a = @p1"],
      ["", BEGIN],
      ["SET NOCOUNT OFF; ", "SET NOCOUNT ON"],
      ["SET NOCOUNT OFF; ", "UPDATE t SET a = @p1"],
    ]);
    expect(BEGIN).toMatch(/^SET NOCOUNT OFF; SET XACT_ABORT OFF; /);
    expect(server.texts.at(-1)).toContain(READ_COMMITTED);
  });

  test.each([
    "CREATE VIEW v AS SELECT 1 AS a",
    " -- c\n/* d */ alter trigger t",
    "SET SHOWPLAN_XML ON",
  ])("%j is first in its batch", async (text) => {
    const { connect, server } = await openServer();
    await (await connect()).query(text);
    expect(server.texts).toEqual([text]);
  });
});

describe("transactions", () => {
  test("begin carries the level, in a batch of its own, and there is one round trip a step", async () => {
    const { connect, server } = await openServer();
    const connection = await connect();
    const steps = [
      begin("snapshot"),
      { kind: "query", text: "SELECT @p1", params: [1] },
      { kind: "commit" },
    ] as const;
    expect(await runSteps(connection, steps)).toHaveLength(3);
    expect(server.said.map(({ kind, text }) => [kind, text.split("\n")[0]])).toEqual([
      ["batch", begin("snapshot").text],
      ["call", "SELECT @p1"],
      ["batch", "IF @@TRANCOUNT = 1 AND XACT_STATE() = 1 COMMIT TRANSACTION;"],
    ]);
    await connection.release();
  });

  test("nothing is sent behind a step that failed, and the transaction is open still", async () => {
    const { connect, server } = await openServer();
    server.answer = ({ text }) => (text === "UPDATE t" ? [{ error: 547 }] : undefined);
    const connection = await connect();
    const steps = [
      begin(undefined),
      { kind: "query", text: "UPDATE t" },
      { kind: "commit" },
    ] as const;
    const error = await rejection(runSteps(connection, steps));
    expect(endsTransaction(error)).toBe(false);
    expect(server.texts).toEqual([BEGIN, "UPDATE t"]);
    expect(connection.keepsFailedTransaction).toBe(true);
    await connection.query("UPDATE u");
    await connection.rollback();
    expect(server.texts.slice(2)).toEqual([
      "UPDATE u",
      `IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; ${READ_COMMITTED}`,
    ]);
  });

  test("a commit that was refused is an error, and nothing was committed", async () => {
    const { connect, pool, server } = await openServer();
    // As a nested BEGIN does that nobody has ended.
    server.answer = ({ text }) =>
      text.startsWith("IF @@TRANCOUNT = 1") ? ["rolled back", { error: 51_002 }] : undefined;
    const connection = await connect();
    await connection.begin();
    const error = await rejection(connection.commit());
    expect(error).toBeInstanceOf(TransactionError);
    expect(String(error)).toContain("Nothing was committed");
    await connection.rollback();
    await connection.release();
    expect(pool.available).toBe(1);
  });

  test("an error that the server rolled back for says so, whatever its number", async () => {
    const { connect, server } = await openServer();
    server.answer = ({ text }) =>
      text === "INSERT a" ? ["rolled back", { error: 2627, severity: 14 }] : undefined;
    const connection = await connect();
    await connection.begin();
    const cause = await rejection(connection.query("INSERT a"));
    expect(endsTransaction(cause)).toBe(true);
    const said = server.said.length;

    // What belongs into the transaction never runs outside of it.
    const refused = await rejection(connection.query("INSERT b"));
    expect(refused).toBeInstanceOf(TransactionError);
    expect(refused).toMatchObject({ cause });
    expect(await rejection(connection.commit())).toBeInstanceOf(TransactionError);
    expect(server.said).toHaveLength(said);

    await connection.rollback();
    await connection.begin();
    await connection.query("INSERT b");
    await connection.commit();
    await connection.release();
  });

  test("a number that ends transactions elsewhere does not where the server kept this one", async () => {
    const { connect, server } = await openServer();
    server.answer = ({ text }) => (text === "SELECT a" ? [{ error: 245 }] : undefined);
    const connection = await connect();
    await connection.begin();
    expect(endsTransaction(await rejection(connection.query("SELECT a")))).toBe(false);
    await connection.commit();
  });

  test("a statement that has committed, or rolled back, ends it unsaid: nothing follows", async () => {
    const { connect, server } = await openServer();
    server.answer = ({ text }) => (text === "EXEC p" ? ["committed"] : undefined);
    const connection = await connect();
    await connection.begin();
    await connection.query("EXEC p");
    const refused = await rejection(connection.query("INSERT b"));
    expect(refused).toBeInstanceOf(TransactionError);
    expect(String(refused)).toContain("a statement has ended the transaction");
    expect(server.texts).toEqual([BEGIN, "EXEC p"]);
  });

  test("so does one that has begun another in its place", async () => {
    const { connect, server } = await openServer();
    server.answer = ({ text }) => (text === "EXEC p" ? ["committed", "begun"] : undefined);
    const connection = await connect();
    await connection.begin();
    await connection.query("EXEC p");
    expect(await rejection(connection.query("INSERT b"))).toBeInstanceOf(TransactionError);
    expect(await rejection(connection.commit())).toBeInstanceOf(TransactionError);
    await connection.rollback();
    expect(server.texts).toEqual([
      BEGIN,
      "EXEC p",
      `IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; ${READ_COMMITTED}`,
    ]);
  });

  test("a commit without an answer is nobody's guess, however often it is asked for", async () => {
    const { connect, server } = await openServer();
    server.answer = ({ text }) => (text.startsWith("IF @@TRANCOUNT = 1") ? "hang up" : undefined);
    const connection = await connect();
    await connection.begin();
    const first = await rejection(connection.commit());
    expect(isSessionLost(first)).toBe(true);
    expect(await rejection(connection.commit())).toBe(first);
    await connection.rollback();
  });

  test("a server that does not tell of transactions is asked at the commit", async () => {
    const { connect, server } = await openServer();
    server.answer = ({ text }) => (text === "UPDATE t" ? [{ error: 1205 }] : []);
    const connection = await connect();
    await connection.begin();
    await connection.query("INSERT a");
    expect(endsTransaction(await rejection(connection.query("UPDATE t")))).toBe(true);
    await connection.commit();
    await connection.release();
    expect(server.texts).toHaveLength(4);
  });
});

describe("a statement that is given up", () => {
  test("takes its connection with it, so that nothing stays locked", async () => {
    const { connect, pool, server } = await openServer({ requestTimeout: 30_000 });
    const connection = await connect();
    await connection.begin();
    server.answer = ({ text }) => (text === "SELECT slow" ? "silence" : undefined);
    const slow = rejection(connection.query("SELECT slow"));
    await until(() => server.texts.includes("SELECT slow"));
    timeOut(connection.client);
    const error = await slow;
    expect(error).toMatchObject({ code: "ETIMEOUT" });
    expect(isSessionLost(error)).toBe(true);
    expect(server.open.size).toBe(1);

    const refused = await rejection(connection.commit());
    expect(refused).toBeInstanceOf(TransactionError);
    expect(refused).toMatchObject({ cause: error });
    await connection.rollback();
    await until(() => server.open.size === 0);
    await connection.release();

    const next = await connect();
    await next.query("SELECT 1");
    expect(server.texts.filter((text) => text.includes("ROLLBACK"))).toEqual([]);
    expect(pool.borrowed).toBe(1);
    await next.release();
  });

  test("takes it outside of a transaction too, at the release", async () => {
    const { connect, server } = await openServer();
    const connection = await connect();
    server.answer = () => "silence";
    const slow = rejection(connection.query("SELECT slow"));
    await until(() => server.said.length === 1);
    timeOut(connection.client);
    const error = await slow;
    expect(await rejection(connection.query("SELECT 1"))).toBe(error);
    await connection.release();
    await until(() => server.open.size === 0);
  });

  test("has the time that the pool gives it", async () => {
    const timeouts = async (config: PoolConfig) => {
      const { connect, server } = await openServer(config);
      const connection = await connect();
      server.answer = () => "silence";
      const slow = rejection(connection.query("SELECT 1"));
      const timeout = await until(() => timeoutOf(connection.client));
      await connection.release(new Error("enough"));
      await slow;
      return timeout;
    };
    expect(await timeouts({})).toEqual({ timeout: 30_000 });
    expect(await timeouts({ requestTimeout: 45_000 })).toEqual({ timeout: 45_000 });
    expect(await timeouts({ requestTimeout: 0 })).toEqual({ timeout: 0 });
  });
});

describe("one request at a time", () => {
  test("statements that are sent together go in their order", async () => {
    const { connect, server } = await openServer();
    const connection = await connect();
    await Promise.all(["a", "b", "c"].map((name) => connection.query(`SELECT ${name}`, [1])));
    expect(server.texts.map((text) => text.at(-1))).toEqual(["a", "b", "c"]);
  });

  test("a release waits for what runs still", async () => {
    const { connect, pool, server } = await openServer();
    const connection = await connect();
    const running = connection.query("SELECT a");
    await connection.release();
    expect(await running).toEqual({ rows: [], rowCount: 0 });
    expect(pool.available).toBe(1);
    expect(server.open.size).toBe(1);
  });
});

/** What the driver's timer does when it is over: no test waits for 30 seconds. */
function timeOut(client: unknown): void {
  const connection = client as { requestTimeout(): void };
  connection.requestTimeout();
}

function timeoutOf(client: unknown): { timeout: unknown } | undefined {
  const { request } = client as { request?: { timeout: unknown } };
  return request && { timeout: request.timeout };
}
