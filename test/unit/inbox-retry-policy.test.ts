import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asFailureAction } from "../../src/queuebox/failure-action.ts";
import {
  type DefaultRetryPolicyOptions,
  deadLetter,
  defaultRetryPolicy,
  type InboxFailureAction,
  type InboxMessage,
  retryAfter,
} from "../../src/queuebox/index.ts";

const failure = new Error("no stock");

function message(attempt: number): InboxMessage {
  const nulls = { aggregateId: null, eventType: null, correlationId: null };
  return {
    id: "1",
    source: "orders",
    idempotencyKey: "k",
    ...nulls,
    payload: 1,
    headers: {},
    attempt,
  };
}

async function decide(
  options: DefaultRetryPolicyOptions,
  attempt: number,
): Promise<InboxFailureAction> {
  return await defaultRetryPolicy(options)(message(attempt), failure);
}

describe("retryAfter and deadLetter", () => {
  test("are plain values, in whole milliseconds", () => {
    expect(retryAfter(0)).toEqual({ retry: true, delayMs: 0 });
    expect(retryAfter(1500.4)).toEqual({ retry: true, delayMs: 1500 });
    expect(deadLetter()).toEqual({ retry: false });
  });

  test.each([-1, -0.001, Number.NaN, Infinity, -Infinity, 1e300])(
    "retryAfter(%d) is a RangeError",
    (ms) => {
      expect(() => retryAfter(ms)).toThrow(RangeError);
      expect(() => retryAfter(ms)).toThrow(/retryAfter takes milliseconds/);
    },
  );

  test("retryAfter of what is no number is a RangeError too", () => {
    for (const ms of ["5", undefined, null, 5n]) {
      expect(() => Reflect.apply(retryAfter, undefined, [ms])).toThrow(RangeError);
    }
  });
});

describe("the default retry policy", () => {
  test("doubles from a second to five minutes, and the sixth failure is the last", async () => {
    const delays: unknown[] = [];
    for (let attempt = 0; attempt < 6; attempt++) delays.push(await decide({ jitter: 0 }, attempt));
    expect(delays).toEqual([
      ...[1000, 2000, 4000, 8000, 16_000].map((delayMs) => ({ retry: true, delayMs })),
      { retry: false },
    ]);
    expect(await decide({ jitter: 0, maxAttempts: 100 }, 50)).toEqual({
      retry: true,
      delayMs: 300_000,
    });
  });

  test("an attempt past the ceiling is dead as well", async () => {
    expect(await decide({}, 5)).toEqual({ retry: false });
    expect(await decide({}, 1000)).toEqual({ retry: false });
    expect(await decide({ maxAttempts: 1 }, 0)).toMatchObject({ retry: true });
    expect(await decide({ maxAttempts: 1 }, 1)).toEqual({ retry: false });
  });

  test("the jitter is a fifth either way by default, uniform, in whole milliseconds", async () => {
    const delays: number[] = [];
    for (let n = 0; n < 2000; n++) {
      const action = await decide({}, 0);
      if (action.retry) delays.push(action.delayMs);
    }
    expect(delays.every(Number.isInteger)).toBe(true);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(800);
    expect(Math.max(...delays)).toBeLessThanOrEqual(1200);
    // Of 2000 draws some fall into each tenth of the range, unless the share is not uniform.
    for (let tenth = 0; tenth < 10; tenth++) {
      const low = 800 + 40 * tenth;
      expect(delays.some((delay) => delay >= low && delay <= low + 40)).toBe(true);
    }
  });

  test("D9: no settings and no attempt, however large, give a wait that is no number, negative or past its ceiling", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(2_147_483_646),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (attempt, baseDelayMs, more, jitter) => {
          const maxDelayMs = baseDelayMs + more;
          const settings = { maxAttempts: 2_147_483_647, baseDelayMs, maxDelayMs, jitter };
          const action = await decide(settings, attempt);
          expect(action.retry).toBe(true);
          const delayMs = action.retry ? action.delayMs : Number.NaN;
          expect(Number.isSafeInteger(delayMs)).toBe(true);
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(Math.ceil(maxDelayMs * (1 + jitter)));
        },
      ),
    );
    expect(await decide({ jitter: 0, maxAttempts: 2000 }, 1000)).toEqual({
      retry: true,
      delayMs: 300_000,
    });
  });

  test.each([
    ["maxAttempts", [0, -1, 1.5, Number.NaN, Infinity]],
    ["baseDelayMs", [-1, Number.NaN, Infinity]],
    ["maxDelayMs", [-1, 999, Number.NaN, Infinity]],
    ["jitter", [-0.1, 1.1, Number.NaN, Infinity]],
  ] as const)("%s out of its range is a RangeError that names it and the value", (name, values) => {
    for (const value of values) {
      const attempt = () => defaultRetryPolicy({ [name]: value });
      expect(attempt).toThrow(RangeError);
      expect(attempt).toThrow(new RegExp(`${name}.*not ${value}`));
    }
  });

  test("a ceiling below the base is refused, one equal to it is not", async () => {
    expect(() => defaultRetryPolicy({ baseDelayMs: 10, maxDelayMs: 9 })).toThrow(RangeError);
    expect(await decide({ baseDelayMs: 10, maxDelayMs: 10, jitter: 0 }, 4)).toEqual({
      retry: true,
      delayMs: 10,
    });
    expect(await decide({ baseDelayMs: 0, maxDelayMs: 0 }, 4)).toEqual({ retry: true, delayMs: 0 });
  });

  test("a misspelled setting and what is no object are refused", () => {
    expect(() => Reflect.apply(defaultRetryPolicy, undefined, [{ attempts: 3 }])).toThrow(
      /no option "attempts"/,
    );
    expect(() => Reflect.apply(defaultRetryPolicy, undefined, [5])).toThrow(TypeError);
  });
});

describe("the answer of a policy", () => {
  test("counts when it is an action, also one written by hand; delays become whole", () => {
    expect(asFailureAction({ retry: true, delayMs: 10.6 })).toEqual({ retry: true, delayMs: 11 });
    expect(asFailureAction({ retry: false, delayMs: -5 })).toEqual({ retry: false });
  });

  test("is nonsense otherwise", () => {
    const nonsense = [undefined, null, true, "retry", 5, {}, [], { retry: "yes" }, { retry: true }];
    for (const value of nonsense) expect(asFailureAction(value)).toBeUndefined();
    for (const delayMs of [-1, Number.NaN, Infinity, "5", null, 1e300]) {
      expect(asFailureAction({ retry: true, delayMs })).toBeUndefined();
    }
  });
});
