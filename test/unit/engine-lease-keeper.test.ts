import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Delivery } from "../../src/engine/delivery.ts";
import { type Extend, type Extension, LeaseKeeper } from "../../src/engine/lease-keeper.ts";
import { Log } from "../../src/log.ts";
import { LineLogger } from "../support/inbox.ts";
import { TestClock } from "../support/test-clock.ts";

const LEASE_MS = 900;
const EVERY_MS = 300;

type Round = (deliveries: readonly Delivery[], signal: AbortSignal) => ReturnType<Extend<Delivery>>;

function keeperOn(
  clock: TestClock,
  extend: Round | undefined,
  logger = new LineLogger(),
  everyMs = EVERY_MS,
) {
  return new LeaseKeeper<Delivery>({
    clock,
    leaseMs: LEASE_MS,
    everyMs,
    log: new Log(logger),
    fields: {},
    extend,
  });
}

function answers(
  deliveries: readonly Delivery[],
  answer: Extension,
): Promise<ReadonlyMap<Delivery, Extension>> {
  return Promise.resolve(new Map(deliveries.map((each) => [each, answer])));
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

describe("a lease keeper", () => {
  test("extends all rows in hand in one round a third of the lease apart, and lets nothing of them abort", async () => {
    const clock = new TestClock();
    const rounds: string[][] = [];
    const keeper = keeperOn(clock, (round) => {
      rounds.push(round.map(({ id }) => id));
      return answers(round, "extended");
    });
    const all = ["a", "b", "c"].map((id) => new Delivery(id, null));
    keeper.hold(all, clock.monotonic());
    await clock.advance(10 * LEASE_MS);
    expect(rounds).toHaveLength(30);
    expect(new Set(rounds.map(String))).toEqual(new Set(["a,b,c"]));
    expect(all.some(({ signal }) => signal.aborted)).toBe(false);
  });

  test("F4: aborts at the deadline where nothing can be renewed", async () => {
    const clock = new TestClock();
    const keeper = keeperOn(clock, undefined);
    const delivery = new Delivery("a", null);
    keeper.hold([delivery], clock.monotonic() - 100);
    await clock.advance(LEASE_MS - 101);
    expect(delivery.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(delivery.lost?.message).toContain("a is not this worker's any more");
    expect(clock.timers).toBe(0);
  });

  test("F3: tries a failed renewal again at once, then each interval, oftener towards the end, and aborts by the deadline", async () => {
    const clock = new TestClock();
    const logger = new LineLogger();
    const tries: number[] = [];
    const extend = () => {
      tries.push(clock.monotonic());
      return Promise.reject(new Error("no connection"));
    };
    const keeper = keeperOn(clock, extend, logger);
    const delivery = new Delivery("a", null);
    keeper.hold([delivery], clock.monotonic());
    await clock.advance(LEASE_MS - 1);
    expect(tries.map(Math.floor)).toEqual([300, 600, 750, 825, 862, 892].flatMap((at) => [at, at]));
    expect(delivery.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(delivery.signal.aborted).toBe(true);
    // Not a line a try: the first, the second, the fourth and the eighth of an outage.
    expect(logger.of("renewal_failed")).toHaveLength(4);
    expect(clock.timers).toBe(0);
  });

  for (const everyMs of [LEASE_MS / 3, LEASE_MS / 2]) {
    test(`a renewal every ${everyMs} ms that hangs leaves time for others before the lease of ${LEASE_MS} ms ends`, async () => {
      const clock = new TestClock();
      let hangs = 3;
      const extend: Round = (round, signal) =>
        hangs-- > 0 ? never(signal) : answers(round, "extended");
      const keeper = keeperOn(clock, extend, new LineLogger(), everyMs);
      const delivery = new Delivery("a", null);
      keeper.hold([delivery], clock.monotonic());
      await clock.advance(3 * LEASE_MS);
      expect(hangs).toBeLessThan(0);
      expect(delivery.signal.aborted).toBe(false);
    });
  }

  test("aborts by the deadline though a renewal still waits for its answer", async () => {
    const clock = new TestClock();
    const keeper = keeperOn(clock, (_, signal) => never(signal));
    const delivery = new Delivery("a", null);
    keeper.hold([delivery], clock.monotonic());
    await clock.advance(LEASE_MS);
    expect(delivery.signal.aborted).toBe(true);
  });

  test("aborts the one that is lost, at once, and keeps its neighbours", async () => {
    const clock = new TestClock();
    const keeper = keeperOn(clock, (round) =>
      Promise.resolve(
        new Map(round.map((each) => [each, each.id === "b" ? "lost" : "extended"] as const)),
      ),
    );
    const [a, b] = [new Delivery("a", null), new Delivery("b", null)];
    keeper.hold([a, b], clock.monotonic());
    await clock.advance(EVERY_MS);
    expect(b.signal.aborted).toBe(true);
    await clock.advance(5 * LEASE_MS);
    expect(a.signal.aborted).toBe(false);
  });

  test("a row whose own completion has it locked is neither extended nor lost, until its deadline", async () => {
    const clock = new TestClock();
    const keeper = keeperOn(clock, (round) => answers(round, "locked"));
    const delivery = new Delivery("a", null);
    keeper.hold([delivery], clock.monotonic());
    await clock.advance(LEASE_MS - 1);
    expect(delivery.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(delivery.signal.aborted).toBe(true);
  });

  test("leaves no timer behind when everything is let go", async () => {
    const clock = new TestClock();
    const keeper = keeperOn(clock, (round) => answers(round, "extended"));
    const delivery = new Delivery("a", null);
    keeper.hold([delivery], clock.monotonic());
    await clock.advance(EVERY_MS + 1);
    keeper.letGo(delivery);
    expect(clock.timers).toBe(0);
    await clock.advance(5 * LEASE_MS);
    expect(delivery.signal.aborted).toBe(false);
  });

  test("whatever renewals answer: no row runs past its deadline, none is aborted before it that was not lost", async () => {
    const outcome = fc.constantFrom("extended", "locked", "lost", "fails", "hangs", "late");
    const hold = fc.record({
      at: fc.integer({ min: 0, max: 3000 }),
      forMs: fc.integer({ min: 1, max: 3000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(outcome, { minLength: 1, maxLength: 12 }),
        fc.array(hold, { minLength: 1, maxLength: 5 }),
        async (outcomes, holds) => {
          const clock = new TestClock();
          const told = new Set<Delivery>();
          let round = 0;
          const keeper = keeperOn(clock, async (deliveries, signal) => {
            const now = outcomes[round % outcomes.length] ?? "extended";
            round += 1;
            switch (now) {
              case "fails":
                throw new Error("no");
              case "hangs":
                return await never(signal);
              case "late":
                await new Promise<void>((resolve) => {
                  clock.setTimer(resolve, EVERY_MS / 2);
                });
                return await answers(deliveries, "extended");
              default:
                if (now === "lost") for (const each of deliveries) told.add(each);
                return await answers(deliveries, now);
            }
          });
          const all = holds.map((_, index) => new Delivery(String(index), null));
          const letGo = new Set<Delivery>();
          for (const [index, { at, forMs }] of holds.entries()) {
            const delivery = all[index];
            if (delivery === undefined) continue;
            clock.setTimer(() => keeper.hold([delivery], clock.monotonic()), at);
            clock.setTimer(() => {
              letGo.add(delivery);
              keeper.letGo(delivery);
            }, at + forMs);
          }
          for (let ms = 0; ms < 7000; ms += 50) {
            await clock.advance(50);
            for (const delivery of all) {
              if (letGo.has(delivery) || delivery.heldUntil === Number.NEGATIVE_INFINITY) continue;
              const isOver = delivery.heldUntil <= clock.monotonic();
              if (isOver) expect(delivery.signal.aborted).toBe(true);
              else if (delivery.signal.aborted) expect(told.has(delivery)).toBe(true);
            }
          }
          expect(clock.timers).toBe(0);
        },
      ),
      { numRuns: 40 },
    );
  });
});
