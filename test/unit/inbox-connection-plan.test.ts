import { describe, expect, test } from "vitest";
import { planConnections } from "../../src/queuebox/connection-plan.ts";
import { type InboxOptions, resolveOptions } from "../../src/queuebox/index.ts";

function plan(max: number | undefined, options: Partial<InboxOptions> = {}) {
  const source = max === undefined ? {} : { max };
  return planConnections(
    source,
    resolveOptions({ source: "orders", maxConcurrency: 5, ...options }),
  );
}

describe("how a worker shares out the connections of a pool", () => {
  test("with enough of them it has its slots, and one connection stays free for leases and settlements", () => {
    expect(plan(6)).toEqual({ slots: 5, inHand: 10, canRenew: true });
    expect(plan(100)).toEqual({ slots: 5, inHand: 10, canRenew: true });
  });

  test("with fewer it works fewer messages at once", () => {
    expect(plan(5)).toMatchObject({ slots: 4 });
    expect(plan(2)).toEqual({ slots: 1, inHand: 10, canRenew: true });
  });

  test("with one it takes one message at a time, and nothing waits unrenewed behind it", () => {
    expect(plan(1)).toEqual({ slots: 1, inHand: 1, canRenew: false });
  });

  test("a source that does not say how many it has is trusted to have enough", () => {
    expect(plan(undefined)).toEqual({ slots: 5, inHand: 10, canRenew: true });
    expect(plan(undefined, { listenNotify: true })).toMatchObject({ slots: 5 });
  });

  test("listening takes none where the source listens apart", () => {
    const options = resolveOptions({ source: "orders", maxConcurrency: 5, listenNotify: true });
    expect(planConnections({ max: 1, listensApart: true }, options)).toMatchObject({ slots: 1 });
    expect(planConnections({ max: 6, listensApart: true }, options)).toMatchObject({ slots: 5 });
  });

  test("listening takes one of them", () => {
    expect(plan(6, { listenNotify: true })).toMatchObject({ slots: 4 });
    expect(plan(2, { listenNotify: true })).toEqual({ slots: 1, inHand: 1, canRenew: false });
    expect(() => plan(1, { listenNotify: true })).toThrow(/at least 2, better 7/);
  });
});
