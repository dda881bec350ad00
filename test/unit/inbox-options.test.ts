import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  deadLetter,
  defaultSchema,
  type InboxOptions,
  InboxWorker,
  inboxSql,
  resolveOptions,
} from "../../src/queuebox/index.ts";

/** Options as JavaScript, or JSON, may give them. */
function resolve(options: unknown): unknown {
  return resolveOptions(options as InboxOptions);
}

const source = "orders";
const nowhere = { connect: () => Promise.reject(new Error("no test here connects")) };

describe("the options of an inbox worker", () => {
  test("have these defaults", () => {
    const { clock, retryPolicy, ...rest } = resolveOptions({ source });
    expect(rest).toEqual({
      source,
      batchSize: 10,
      leaseMs: 30_000,
      maxConcurrency: 1,
      renewIntervalMs: 10_000,
      pollIntervalMs: 1000,
      shutdownGraceMs: 30_000,
      dialect: "postgresql",
      schema: defaultSchema,
      logger: undefined,
      abandon: "expire",
      chargeExpired: false,
      listenNotify: false,
      payload: undefined,
      prepareStatements: false,
    });
    expect(typeof clock.monotonic()).toBe("number");
    expect(typeof retryPolicy).toBe("function");
  });

  test("concurrency counts up to the batch, and leases are renewed every third of one", () => {
    expect(resolveOptions({ source, batchSize: 4, maxConcurrency: 8 }).maxConcurrency).toBe(4);
    expect(resolveOptions({ source, batchSize: 8, maxConcurrency: 3 }).maxConcurrency).toBe(3);
    expect(resolveOptions({ source, leaseMs: 3 }).renewIntervalMs).toBe(1);
    expect(resolveOptions({ source, leaseMs: 1000 }).renewIntervalMs).toBe(333);
  });

  test("an option that is undefined has its default, and the ends of each range are taken", () => {
    expect(resolve({ source, batchSize: undefined, logger: undefined })).toMatchObject({
      batchSize: 10,
    });
    const most = 2_147_483_647;
    const largest = {
      batchSize: 100_000,
      leaseMs: most,
      pollIntervalMs: most,
      shutdownGraceMs: most,
    };
    expect(resolve({ source, ...largest, maxConcurrency: most })).toMatchObject({
      ...largest,
      maxConcurrency: 100_000,
    });
    const smallest = { batchSize: 1, leaseMs: 3, pollIntervalMs: 1, shutdownGraceMs: 0 };
    expect(resolve({ source, ...smallest, maxConcurrency: 1 })).toMatchObject(smallest);
  });

  const numbers = [
    ["batchSize", 0],
    ["leaseMs", 2],
    ["maxConcurrency", 0],
    ["pollIntervalMs", 0],
    ["shutdownGraceMs", -1],
  ] as const;

  test.each(numbers)(
    "%s below its least, not whole, not finite or too large is a RangeError",
    (name, below) => {
      for (const value of [below, 3.5, Number.NaN, Infinity, -Infinity, 2 ** 31, 1e300]) {
        const attempt = () => resolve({ source, [name]: value });
        expect(attempt).toThrow(RangeError);
        expect(attempt).toThrow(new RegExp(`^${name} takes a whole number from \\d+ to \\d+`));
        expect(attempt).toThrow(`not ${value}`);
      }
    },
  );

  test.each(numbers)("%s that is no number is a TypeError", (name) => {
    for (const value of ["10", true, 10n, {}, [10], () => 10]) {
      const attempt = () => resolve({ source, [name]: value });
      expect(attempt).toThrow(TypeError);
      expect(attempt).toThrow(name);
    }
  });

  test.each([
    ["source", undefined, TypeError, /source takes .* not undefined/],
    ["source", 7, TypeError, /source takes .* not 7/],
    ["source", "", RangeError, /source takes .* not ""/],
    ["source", " \t", RangeError, /not blank/],
    ["source", "or\0ders", RangeError, /NUL/],
    ["dialect", "mysql", TypeError, /dialect takes "postgresql" or "sqlserver", not "mysql"/],
    ["dialect", 5, TypeError, /dialect/],
    ["abandon", "forget", TypeError, /abandon takes "expire" or "release", not "forget"/],
    ["chargeExpired", "yes", TypeError, /chargeExpired takes true or false, not "yes"/],
    ["listenNotify", 1, TypeError, /listenNotify takes true or false, not 1/],
    ["prepareStatements", "yes", TypeError, /prepareStatements takes true or false, not "yes"/],
    ["logger", { info() {} }, TypeError, /logger takes an object with info, warn and error/],
    ["logger", "console", TypeError, /logger/],
    [
      "retryPolicy",
      { retry: true },
      TypeError,
      /retryPolicy takes a function .* or an object with a method decide/,
    ],
    ["retryPolicy", "never", TypeError, /retryPolicy/],
    ["payload", "yaml", TypeError, /payload takes "json", "text" or a Standard Schema, not "yaml"/],
    ["payload", { parse() {} }, TypeError, /payload/],
    ["clock", { now() {} }, TypeError, /clock takes an object with monotonic and setTimer/],
    ["schema", "inbox", TypeError, /schema/],
    ["schema", { table: "inbox" }, TypeError, /schema\.id is missing/],
  ] as const)(
    "%s that is %j is refused, and the error says what it takes",
    (name, value, type, text) => {
      const attempt = () => resolve({ source, [name]: value });
      expect(attempt).toThrow(type);
      expect(attempt).toThrow(text);
    },
  );

  test("a misspelled option is refused by its name, and so is what is no object", () => {
    expect(() => resolve({ source, batchsize: 5 })).toThrow(/no option "batchsize".*batchSize/);
    expect(() => resolve(undefined)).toThrow(TypeError);
    expect(() => resolve("orders")).toThrow(/InboxOptions takes an object/);
  });

  test("a name in the schema that could carry SQL, is too long or is used twice is refused by its role", () => {
    const unsafe = [
      'in"box',
      "in box",
      "1nbox",
      "",
      "a.b.c",
      "inbox;--",
      "x".repeat(64),
      "ın",
      "a.",
    ];
    for (const table of unsafe) {
      expect(() => resolveOptions({ source, schema: { ...defaultSchema, table } })).toThrow(
        RangeError,
      );
      expect(() => resolveOptions({ source, schema: { ...defaultSchema, table } })).toThrow(
        /schema\.table/,
      );
    }
    const named = (payload: unknown) => () =>
      resolve({ source, schema: { ...defaultSchema, payload } });
    expect(named("a.b")).toThrow(/schema\.payload/);
    expect(named("headers")).toThrow(/schema\.headers.* schema\.payload/);
    expect(named(undefined)).toThrow(/schema\.payload is missing/);
    expect(named(5)).toThrow(TypeError);
    expect(() => resolve({ source, schema: { ...defaultSchema, body: "body" } })).toThrow(
      /schema\.body/,
    );
  });

  test("a table in two parts, underscores, dollars and 63 characters are safe names", () => {
    const schema = { ...defaultSchema, table: "_messaging$1.Inbox", payload: "x".repeat(63) };
    expect(resolveOptions({ source, schema }).schema).toEqual(schema);
  });

  test("the schema is a copy: what is changed later reaches no statement", () => {
    const schema = { ...defaultSchema };
    const resolved = resolveOptions({ source, schema });
    schema.table = "x; DROP TABLE inbox";
    expect(resolved.schema.table).toBe("inbox");
  });

  test("a policy is a function, or an object whose decide keeps its this", async () => {
    const strict = { limit: 0, decide: () => deadLetter() };
    const withThis = {
      answer: deadLetter(),
      decide() {
        return this.answer;
      },
    };
    for (const retryPolicy of [() => deadLetter(), strict, withThis]) {
      const resolved = resolveOptions({ source, retryPolicy });
      const message = { ...emptyMessage };
      expect(await resolved.retryPolicy(message, new Error("x"))).toEqual({ retry: false });
    }
  });

  test("payload takes any Standard Schema, callable ones too", () => {
    const schema = z.object({ id: z.string() });
    expect(resolveOptions({ source, payload: schema }).payload).toBe(schema);
    const callable = Object.assign(() => undefined, { "~standard": schema["~standard"] });
    expect(resolveOptions({ source, payload: callable }).payload).toBe(callable);
  });
});

const emptyMessage = {
  id: "1",
  source,
  idempotencyKey: "k",
  aggregateId: null,
  eventType: null,
  correlationId: null,
  payload: {},
  headers: {},
  attempt: 0,
};

describe("the constructor of an inbox worker", () => {
  test("checks the options at once", () => {
    expect(() => new InboxWorker(nowhere, { source: "" })).toThrow(RangeError);
  });

  test.each([undefined, null, "postgres://db", 5, {}, { connect: true }])(
    "refuses %j as a source of connections",
    (connections) => {
      const attempt = () => Reflect.construct(InboxWorker, [connections, { source }]);
      expect(attempt).toThrow(TypeError);
      expect(attempt).toThrow(/connections: it takes a source such as fromPg\(pool\)/);
    },
  );

  test("refuses a pool size that is none", () => {
    for (const max of [0, -1, 1.5, Number.NaN]) {
      expect(() => new InboxWorker({ ...nowhere, max }, { source })).toThrow(RangeError);
      expect(() => new InboxWorker({ ...nowhere, max }, { source })).toThrow(/connections\.max/);
    }
  });

  test("refuses to listen on a source that cannot", () => {
    expect(() => new InboxWorker(nowhere, { source, listenNotify: true })).toThrow(
      /listenNotify takes a connection source that has a method listen/,
    );
  });

  test("refuses to listen on a database that does not notify", () => {
    const listening = { ...nowhere, listen: () => Promise.reject(new Error("no")) };
    const options = { source, listenNotify: true, dialect: "sqlserver" } as const;
    expect(() => new InboxWorker(listening, options)).toThrow(
      /listenNotify takes a database that notifies; dialect "sqlserver" has none/,
    );
  });

  test("refuses connections to another database than the dialect's", () => {
    const attempt = (database: string, dialect: "postgresql" | "sqlserver") =>
      new InboxWorker({ ...nowhere, database }, { source, dialect });
    expect(() => attempt("sqlserver", "postgresql")).toThrow(
      /dialect: "postgresql" does not fit these connections, which are to sqlserver/,
    );
    expect(() => attempt("postgres", "sqlserver")).toThrow(TypeError);
    attempt("sqlserver", "sqlserver");
    attempt("postgres", "postgresql");
  });

  test("refuses a pool whose only connection would listen, and names the size that it needs", () => {
    const listening = { ...nowhere, max: 1, listen: () => Promise.reject(new Error("no")) };
    const attempt = () => new InboxWorker(listening, { source, listenNotify: true });
    expect(attempt).toThrow(RangeError);
    expect(attempt).toThrow(/connections\.max is 1: it takes at least 2/);
  });

  test("run refuses a handler that is no function and a signal that is none, and can run afterwards", async () => {
    const worker = new InboxWorker(nowhere, { source });
    for (const handler of [undefined, {}, "handle"]) {
      await expect(Reflect.apply(worker.run, worker, [handler])).rejects.toThrow(
        /run takes a handler/,
      );
    }
    for (const signal of [null, {}, 5000, new AbortController()]) {
      const run: Promise<void> = Reflect.apply(worker.run, worker, [() => {}, signal]);
      await expect(run).rejects.toThrow(/run takes an AbortSignal second/);
    }
    await worker.run(() => {}, AbortSignal.abort());
  });
});

describe("inboxSql", () => {
  test("answers the five statements, each with its parameters in the contract's order", () => {
    const { claim, complete, dead, renew, retry } = inboxSql("postgresql", defaultSchema);
    expect(claim.params).toEqual(["source", "batch", "leaseMs", "candLimit"]);
    expect(renew.params).toEqual(["leaseMs", "id", "token"]);
    expect(complete.params).toEqual(["id", "token"]);
    expect(retry.params).toEqual(["delayMs", "error", "id", "token"]);
    expect(dead.params).toEqual(["error", "id", "token"]);
    for (const { text, params } of [claim, renew, complete, retry, dead]) {
      const used = new Set(text.match(/\$\d+/g));
      expect(used).toEqual(new Set(params.map((_, index) => `$${index + 1}`)));
    }
  });

  test("refuses a dialect or a schema that is none", () => {
    expect(() => Reflect.apply(inboxSql, undefined, ["oracle", defaultSchema])).toThrow(/dialect/);
    expect(() => Reflect.apply(inboxSql, undefined, ["postgresql", { table: "t" }])).toThrow(
      /schema\.id/,
    );
  });
});
