import { describe, expect, test } from "vitest";
import {
  ack,
  deadLetter,
  drop,
  isOutcome,
  type Outcome,
  retry,
  retryAfter,
} from "../../src/outcome.ts";
import { MAX_DELAY_MS } from "../../src/retry.ts";

describe("50: outcomes", () => {
  test("are frozen, and known as what they are", () => {
    for (const outcome of [ack(), retry(), retryAfter(5), drop(), deadLetter("full")]) {
      expect(Object.isFrozen(outcome)).toBe(true);
      expect(isOutcome(outcome)).toBe(true);
    }
    for (const other of [undefined, null, "ack", {}, { outcome: "done" }, { kind: "ack" }, retry]) {
      expect(isOutcome(other)).toBe(false);
    }
  });

  test.each([
    [0, 0],
    [1500, 1500],
    [0.2, 1],
    ["250ms", 250],
    ["30s", 30_000],
    ["5m", 300_000],
    ["1.5h", 5_400_000],
    ["7d", 604_800_000],
    [MAX_DELAY_MS, MAX_DELAY_MS],
  ] as const)("retryAfter(%j) waits %d ms", (delay, delayMs) => {
    expect(retryAfter(delay)).toEqual({ outcome: "retryAfter", delayMs });
  });

  test.each([
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    MAX_DELAY_MS + 1,
    "5 weeks",
    "",
    "m",
    "-5m",
  ])("retryAfter(%j) is a RangeError that names the value and what is taken", (delay) => {
    const wrong = () => retryAfter(delay as never);
    expect(wrong).toThrow(RangeError);
    expect(wrong).toThrow(/retryAfter takes milliseconds .*"5m", not /);
    expect(wrong).toThrow(typeof delay === "string" ? `"${delay}"` : String(delay));
  });

  test("deadLetter takes a text or an Error", () => {
    const error = new Error("gone");
    expect(deadLetter(error)).toEqual({ outcome: "deadLetter", reason: error });
    expect(() => deadLetter(7 as never)).toThrow(
      "deadLetter takes a reason as text or an Error, not 7",
    );
  });

  test("D9: a delay is never NaN", () => {
    const outcome: Outcome = retryAfter("0.000001ms");
    expect(outcome).toEqual({ outcome: "retryAfter", delayMs: 1 });
  });
});
