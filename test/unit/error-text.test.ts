import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_ERROR_LENGTH, sanitizeError } from "../../src/redact.ts";

function failure(message: string, properties: object = {}): Error {
  return Object.assign(new Error(message), properties);
}

function chainOf(length: number): Error {
  let error = new Error(`e${length}`);
  for (let number = length - 1; number >= 1; number -= 1) {
    error = new Error(`e${number}`, { cause: error });
  }
  return error;
}

const throwing = (): never => {
  throw new Error("hostile");
};
const hostileTraps: ProxyHandler<object> = {
  get: throwing,
  has: throwing,
  ownKeys: throwing,
  getPrototypeOf: throwing,
  getOwnPropertyDescriptor: throwing,
};

describe("name, message and causes", () => {
  test("the name and the message", () => {
    expect(sanitizeError(new TypeError("no id"))).toBe("TypeError: no id");
    expect(sanitizeError(failure("no id", { name: "OrderError" }))).toBe("OrderError: no id");
  });

  test("one of them alone, or neither", () => {
    expect(sanitizeError(new RangeError())).toBe("RangeError");
    expect(sanitizeError(failure("no id", { name: "" }))).toBe("no id");
    expect(sanitizeError(failure("", { name: "" }))).toBe("Error");
  });

  test("up to 5 causes, joined", () => {
    expect(sanitizeError(chainOf(2))).toBe("Error: e1 | caused by Error: e2");
    const six = "Error: e1 | caused by Error: e2 | caused by Error: e3 | caused by Error: e4";
    expect(sanitizeError(chainOf(6))).toBe(`${six} | caused by Error: e5 | caused by Error: e6`);
    expect(sanitizeError(chainOf(100))).toBe(sanitizeError(chainOf(6)));
  });

  test("cycles end", () => {
    const self = new Error("self");
    self.cause = self;
    expect(sanitizeError(self)).toBe("Error: self");
    const first = new Error("first");
    first.cause = new Error("second", { cause: first });
    expect(sanitizeError(first)).toBe("Error: first | caused by Error: second");
  });

  test("a cause that is no error", () => {
    expect(sanitizeError(new Error("a", { cause: "b" }))).toBe("Error: a | caused by b");
    expect(sanitizeError(new Error("a", { cause: 0 }))).toBe(
      "Error: a | caused by non-error value 0",
    );
    expect(sanitizeError(new Error("a", { cause: null }))).toBe("Error: a");
    expect(sanitizeError(new Error("a", { cause: undefined }))).toBe("Error: a");
  });
});

describe("a driver's code", () => {
  test("behind the message", () => {
    const error = failure("deadlock detected", { name: "error", code: "40P01" });
    expect(sanitizeError(error)).toBe("error: deadlock detected (code 40P01)");
    expect(sanitizeError(failure("m", { code: 1205 }))).toBe("Error: m (code 1205)");
    expect(sanitizeError(failure("", { code: "ECONNREFUSED" }))).toBe("Error (code ECONNREFUSED)");
  });

  test("of a cause, too", () => {
    expect(sanitizeError(new Error("a", { cause: failure("b", { code: "23505" }) }))).toBe(
      "Error: a | caused by Error: b (code 23505)",
    );
  });

  test("not twice, and not if it is no code", () => {
    const error = failure("connect ECONNREFUSED ::1:5432", { code: "ECONNREFUSED" });
    expect(sanitizeError(error)).toBe("Error: connect ECONNREFUSED ::1:5432");
    expect(sanitizeError(failure("m", { code: "" }))).toBe("Error: m");
    expect(sanitizeError(failure("m", { code: {} }))).toBe("Error: m");
  });

  test("is not swallowed by a key's value in front of it", () => {
    expect(sanitizeError(failure("bad token: abc", { code: "42601" }))).toBe(
      "Error: bad token=[REDACTED] (code 42601)",
    );
  });
});

describe("members of an AggregateError", () => {
  test("each with its own causes", () => {
    const members = [new Error("a", { cause: new Error("b") }), new TypeError("c"), "d", undefined];
    expect(sanitizeError(new AggregateError(members, "all failed"))).toBe(
      "AggregateError: all failed [Error: a | caused by Error: b; TypeError: c; d; non-error value undefined]",
    );
  });

  test("with an empty message, as a refused connection to a name of two addresses has", () => {
    const members = ["::1:5432", "127.0.0.1:5432"].map((to) => new Error(`connect ${to}`));
    const error = Object.assign(new AggregateError(members), { code: "ECONNREFUSED" });
    expect(sanitizeError(error)).toBe(
      "AggregateError (code ECONNREFUSED) [Error: connect ::1:5432; Error: connect 127.0.0.1:5432]",
    );
  });

  test("at most five, and the number of the others", () => {
    const members = [1, 2, 3, 4, 5, 6, 7].map((number) => `m${number}`);
    expect(sanitizeError(new AggregateError(members, "x"))).toBe(
      "AggregateError: x [m1; m2; m3; m4; m5; 2 more]",
    );
    expect(sanitizeError(new AggregateError([], "x"))).toBe("AggregateError: x");
  });

  test("cycles and shared members end", () => {
    const shared = new Error("shared");
    const error = new AggregateError([shared, shared], "x", { cause: shared });
    error.errors.push(error);
    expect(sanitizeError(error)).toBe("AggregateError: x [Error: shared]");
  });

  test("aggregates of aggregates do not multiply", () => {
    const nest = (depth: number): Error =>
      depth === 0
        ? new Error("leaf")
        : new AggregateError(
            [1, 2, 3, 4, 5, 6].map(() => nest(depth - 1)),
            "",
          );
    expect(sanitizeError(nest(5)).match(/leaf|AggregateError/g)?.length).toBeLessThanOrEqual(40);
  });
});

describe("values that are no errors", () => {
  test.each<[unknown, string]>([
    [undefined, "non-error value undefined"],
    [null, "non-error value null"],
    ["out of stock", "out of stock"],
    ["", 'non-error value ""'],
    [0, "non-error value 0"],
    [Number.NaN, "non-error value NaN"],
    [false, "non-error value false"],
    [9007199254740993n, "non-error value 9007199254740993"],
    [Symbol("stop"), "non-error value Symbol(stop)"],
    [function stop(): void {}, "non-error value function stop"],
    [{ status: 503, tags: ["a", null] }, 'non-error value {"status":503,"tags":["a",null]}'],
    [{}, "non-error value {}"],
    [[], "non-error value []"],
    [Object.create(null), "non-error value {}"],
    [new Map(), "non-error value Map {}"],
    [new Date(0), "non-error value 1970-01-01T00:00:00.000Z"],
    [new Date(Number.NaN), "non-error value Date {}"],
    [new Uint8Array(9), "non-error value Uint8Array of 9 bytes"],
    [{ message: "shaped", code: "E1" }, "shaped (code E1)"],
    [{ name: "Shaped", message: "like one" }, "Shaped: like one"],
  ])("%s", (value, expected) => {
    expect(sanitizeError(value)).toBe(expected);
  });

  test("a null-prototype error", () => {
    const error: unknown = Object.assign(Object.create(null), { message: "bare", cause: "c" });
    expect(sanitizeError(error)).toBe("bare | caused by c");
  });

  test("large, deep and cyclic objects end", () => {
    const cyclic: Record<string, unknown> = { id: 1 };
    cyclic["self"] = cyclic;
    expect(sanitizeError(cyclic)).toBe(
      'non-error value {"id":1,"self":{"id":1,"self":{"id":1,"self":...}}}',
    );
    const wide = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`k${index}`, index]),
    );
    expect(sanitizeError(wide)).toMatch(/"k19":19,\.\.\.}$/);
    expect(sanitizeError(Array.from({ length: 100 }, () => 1))).toMatch(/1,\.\.\.]$/);
  });
});

describe("hostile values", () => {
  test("a frozen error", () => {
    expect(sanitizeError(Object.freeze(new Error("cold")))).toBe("Error: cold");
  });

  test("a getter that throws", () => {
    for (const key of ["message", "name", "cause", "code", "errors"]) {
      const error = Object.defineProperty(new Error("m"), key, { get: throwing });
      const text = key === "message" ? "Error: (without a readable message)" : "Error: m";
      expect(sanitizeError(error)).toBe(key === "name" ? "m" : text);
    }
    expect(
      sanitizeError({
        a: 1,
        get b() {
          return throwing();
        },
      }),
    ).toBe('non-error value {"a":1,"b":undefined}');
  });

  test("a message or a name that is no text", () => {
    expect(sanitizeError(failure("", { message: { id: 7 } }))).toBe('Error: {"id":7}');
    expect(sanitizeError(failure("m", { name: 7 }))).toBe("m");
    expect(sanitizeError(failure("", { message: Symbol("s") }))).toBe("Error: Symbol(s)");
  });

  test("a proxy: of an error, with throwing traps, revoked", () => {
    expect(sanitizeError(new Proxy(new Error("m"), {}))).toBe("Error: m");
    const unreadable = "non-error value (an unreadable object)";
    expect(sanitizeError(new Proxy({}, hostileTraps))).toBe(unreadable);
    expect(sanitizeError(new Proxy(new Error("m"), hostileTraps))).toBe(unreadable);
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(sanitizeError(proxy)).toBe(unreadable);
    expect(sanitizeError(new Error("a", { cause: proxy }))).toBe(
      `Error: a | caused by ${unreadable}`,
    );
    expect(sanitizeError({ inner: proxy })).toBe(
      'non-error value {"inner":(an unreadable object)}',
    );
  });

  test("errors that claim to be an endless list", () => {
    expect(sanitizeError(failure("m", { errors: { length: Number.POSITIVE_INFINITY } }))).toMatch(
      /^Error: m \[non-error value undefined; /,
    );
    expect(sanitizeError(failure("m", { errors: "abc" }))).toBe("Error: m");
    expect(sanitizeError(failure("m", { errors: { length: Number.NaN } }))).toBe("Error: m");
  });

  test("anything at all, alone and as a cause: some text, never a throw", {
    timeout: 60_000,
  }, () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        for (const thrown of [
          value,
          new Error("m", { cause: value }),
          new AggregateError([value]),
        ]) {
          const text = sanitizeError(thrown);
          expect(text).not.toBe("");
          expect(text.length).toBeLessThanOrEqual(MAX_ERROR_LENGTH);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a message of a megabyte", { timeout: 60_000 }, () => {
    const text = sanitizeError(new Error("x".repeat(1_000_000), { cause: new Error("y") }));
    expect(text).toHaveLength(MAX_ERROR_LENGTH);
    expect(text).toMatch(/^Error: x+\.\.\.\[truncated\]$/);
  });
});

describe("the redaction", () => {
  test("of messages, codes, causes and members", () => {
    const member = new Error("Bearer abc123");
    const cause = new AggregateError([member], "amqp://app:pw@rabbit:5672", { cause: "pwd=x" });
    expect(sanitizeError(failure("token=abc", { code: "secret=x", cause }))).toBe(
      "Error: token=[REDACTED] (code secret=[REDACTED] | caused by " +
        "AggregateError: amqp://***@rabbit:5672 [Error: Bearer [REDACTED]] | caused by pwd=[REDACTED]",
    );
  });

  test("a key's value does not swallow the next error", () => {
    expect(sanitizeError(new Error("password: a b", { cause: new Error("why") }))).toBe(
      "Error: password=[REDACTED] | caused by Error: why",
    );
  });

  test("of plain objects: by the key, whatever its value is", () => {
    const text = sanitizeError({
      user: "ada",
      password: { value: "hunter2" },
      apiKey: ["hunter2", "hunter2"],
      log: 'token="hunter2" and amqp://app:hunter2@rabbit',
      url: "https://app:hunter2@host/x",
    });
    expect(text).not.toContain("hunter2");
    expect(text).toContain('"user":"ada"');
  });

  test("NUL characters are gone, and no surrogate pair is split", () => {
    expect(sanitizeError(new Error("a\0b"))).toBe("Error: ab");
    expect(sanitizeError("a\0b")).toBe("ab");
    for (const pad of ["", "x"]) {
      expect(sanitizeError(new Error(pad + "😀".repeat(2000)))).not.toMatch(/\p{Surrogate}/u);
    }
  });
});
