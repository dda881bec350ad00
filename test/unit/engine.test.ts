import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Delivery } from "../../src/engine/delivery.ts";
import { Engine, type EngineSettings } from "../../src/engine/engine.ts";
import { type Claim, FatalError, type Performance, type Work } from "../../src/engine/work.ts";
import { Log } from "../../src/log.ts";
import { LineLogger } from "../support/inbox.ts";
import { TestClock } from "../support/test-clock.ts";

const HOUR = 3_600_000;

/** Work without a database: rows to claim, and how long their handlers take. */
class ScriptedWork implements Work<Delivery> {
  async close(): Promise<void> {}

  readonly clock: TestClock;
  readonly rows: Delivery[] = [];
  readonly claims: number[] = [];
  readonly performed: Delivery[] = [];
  readonly givenBack: Delivery[] = [];
  readonly inHand = new Set<Delivery>();
  mostRunning = 0;
  mostInHand = 0;
  claimMs = 0;
  performMs = 10;
  /** A handler that does not care about its signal. */
  ignoresSignal = false;
  claimError: Error | undefined;
  #running = 0;

  constructor(clock: TestClock, rows = 0, key: string | null = null) {
    this.clock = clock;
    this.add(rows, key);
  }

  add(count: number, key: string | null = null): void {
    for (let n = 0; n < count; n += 1) this.rows.push(new Delivery(`row-${this.rows.length}`, key));
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  async claim(limit: number): Promise<Claim<Delivery>> {
    this.claims.push(this.clock.monotonic());
    if (this.claimError !== undefined) throw this.claimError;
    const deliveries = this.rows.splice(0, limit);
    if (this.claimMs > 0) await this.#wait(this.claimMs);
    for (const each of deliveries) this.inHand.add(each);
    this.mostInHand = Math.max(this.mostInHand, this.inHand.size);
    return { deliveries, rest: deliveries.length === limit ? "more" : "empty" };
  }

  async perform(delivery: Delivery): Promise<Performance> {
    this.performed.push(delivery);
    this.#running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.#running);
    await this.#wait(this.performMs, this.ignoresSignal ? undefined : delivery.signal);
    this.#running -= 1;
    this.inHand.delete(delivery);
    return "settled";
  }

  giveBack(deliveries: readonly Delivery[]): Promise<void> {
    for (const each of deliveries) {
      this.givenBack.push(each);
      this.inHand.delete(each);
    }
    return Promise.resolve();
  }

  #wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.clock.setTimer(resolve, ms);
      signal?.addEventListener("abort", () => {
        timer.cancel();
        resolve();
      });
    });
  }
}

function engineOn(
  work: ScriptedWork,
  settings: Partial<EngineSettings> = {},
  logger = new LineLogger(),
): Engine<Delivery> {
  return new Engine(work, {
    slots: 2,
    inHand: 4,
    pollIntervalMs: 1000,
    graceMs: 500,
    lastWaitMs: 200,
    clock: work.clock,
    log: new Log(logger),
    fields: {},
    ...settings,
  });
}

/** Starts an engine; `stop` aborts, `state` says how `run` ended. */
function started(engine: Engine<Delivery>) {
  const controller = new AbortController();
  const state: { end: "runs" | "resolved" | "rejected"; error?: unknown } = { end: "runs" };
  void engine.run(controller.signal).then(
    () => {
      state.end = "resolved";
    },
    (error: unknown) => {
      state.end = "rejected";
      state.error = error;
    },
  );
  return { state, stop: () => controller.abort() };
}

describe("the engine", () => {
  test("works every row once and waits for the next poll, with jitter", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock, 5);
    const { state, stop } = started(engineOn(work));
    await clock.advance(100);
    expect(work.performed).toHaveLength(5);
    const before = work.claims.length;
    await clock.advance(20_000);
    const polls = work.claims.length - before;
    expect(polls).toBeGreaterThanOrEqual(16);
    expect(polls).toBeLessThanOrEqual(25);
    stop();
    await clock.advance(0);
    expect(state.end).toBe("resolved");
    expect(clock.timers).toBe(0);
  });

  test("a slow handler holds back nobody", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock, 20);
    work.performMs = 10;
    const perform = work.perform.bind(work);
    let slow: Delivery | undefined;
    work.perform = async (delivery) => {
      slow ??= delivery;
      if (slow === delivery) {
        await new Promise<void>((resolve) => void clock.setTimer(resolve, HOUR));
        return "settled";
      }
      return await perform(delivery);
    };
    started(engineOn(work));
    await clock.advance(1000);
    expect(work.performed).toHaveLength(19);
  });

  test("S18: the next row of a key is claimed as soon as the one before has ended", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock, 1, "key");
    started(engineOn(work, { pollIntervalMs: HOUR }));
    await clock.advance(5);
    work.add(1, "key");
    await clock.advance(5);
    expect(work.performed).toHaveLength(2);
  });

  test("N10: many wake-ups are one claim", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock);
    const engine = engineOn(work, { pollIntervalMs: HOUR });
    started(engine);
    await clock.advance(0);
    expect(work.claims).toHaveLength(1);
    for (let n = 0; n < 50; n += 1) engine.wake();
    await clock.advance(10);
    expect(work.claims).toHaveLength(2);
  });

  test("a wake-up while a claim is on its way is not lost", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock);
    work.claimMs = 10;
    const engine = engineOn(work, { pollIntervalMs: HOUR });
    started(engine);
    await clock.advance(5);
    work.add(1);
    engine.wake();
    await clock.advance(50);
    expect(work.performed).toHaveLength(1);
  });

  test("S3: claims that fail back off, say so now and then, and go on by themselves", async () => {
    const clock = new TestClock();
    const logger = new LineLogger();
    const work = new ScriptedWork(clock, 1);
    work.claimError = new Error("the name does not resolve");
    started(engineOn(work, {}, logger));
    await clock.advance(10 * 60_000);
    const gaps = work.claims.slice(1).map((at, index) => at - (work.claims[index] ?? 0));
    expect(gaps[0]).toBeLessThanOrEqual(1200);
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(24_000);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(30_000);
    expect(logger.of("claim_failed").length).toBeLessThanOrEqual(6);
    work.claimError = undefined;
    await clock.advance(30_000);
    expect(work.performed).toHaveLength(1);
    expect(logger.of("claim_failed_recovered")).toHaveLength(1);
  });

  test("ends in good order and with the cause when claiming again cannot help", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock);
    const cause = new Error("no such table");
    work.claimError = new FatalError(cause);
    const { state } = started(engineOn(work));
    await clock.advance(0);
    expect(state).toEqual({ end: "rejected", error: cause });
    expect(clock.timers).toBe(0);
  });

  test("P7: a signal that is aborted already ends the run before any claim", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock, 3);
    await engineOn(work).run(AbortSignal.abort());
    expect(work.claims).toEqual([]);
    expect(work.performed).toEqual([]);
  });

  test("a stop gives back what waits and what a claim on its way brings, and lets handlers end", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock, 4);
    work.performMs = 400;
    const { state, stop } = started(engineOn(work, { slots: 1, inHand: 3 }));
    await clock.advance(1);
    work.claimMs = 50;
    stop();
    await clock.advance(0);
    expect(work.givenBack.map(({ id }) => id)).toEqual(["row-1", "row-2"]);
    expect(state.end).toBe("runs");
    await clock.advance(400);
    expect(state.end).toBe("resolved");
    expect(work.performed.map(({ signal }) => signal.aborted)).toEqual([false]);
  });

  test("P8: what a claim on its way brings after the stop is given back", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock, 4);
    work.claimMs = 50;
    const { state, stop } = started(engineOn(work));
    await clock.advance(1);
    stop();
    await clock.advance(50);
    expect(state.end).toBe("resolved");
    expect(work.givenBack).toHaveLength(4);
    expect(work.performed).toEqual([]);
  });

  test("after the grace the signal aborts, and a handler that ignores it does not hold up the end", async () => {
    const clock = new TestClock();
    const logger = new LineLogger();
    const work = new ScriptedWork(clock, 2);
    work.performMs = HOUR;
    work.ignoresSignal = true;
    const { state, stop } = started(engineOn(work, {}, logger));
    await clock.advance(1);
    stop();
    await clock.advance(499);
    expect(work.performed.some(({ signal }) => signal.aborted)).toBe(false);
    await clock.advance(1);
    expect(work.performed.every(({ signal }) => signal.aborted)).toBe(true);
    expect(state.end).toBe("runs");
    await clock.advance(200);
    expect(state.end).toBe("resolved");
    expect(logger.of("handler_left_behind")).toHaveLength(2);
  });

  test("whatever happens: bounds are kept, each claimed row is worked or given back once, and the end comes in time", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          slots: fc.integer({ min: 1, max: 5 }),
          prefetch: fc.integer({ min: 0, max: 6 }),
          rows: fc.integer({ min: 0, max: 40 }),
          claimMs: fc.integer({ min: 0, max: 80 }),
          performMs: fc.integer({ min: 1, max: 900 }),
          ignoresSignal: fc.boolean(),
          key: fc.constantFrom(null, "key"),
          stopAt: fc.integer({ min: 0, max: 1500 }),
          wakes: fc.array(fc.integer({ min: 0, max: 1500 }), { maxLength: 5 }),
        }),
        async ({ slots, prefetch, rows, key, stopAt, wakes, ...script }) => {
          const clock = new TestClock();
          const work = Object.assign(new ScriptedWork(clock, rows, key), script);
          const all = [...work.rows];
          const engine = engineOn(work, { slots, inHand: slots + prefetch });
          const { state, stop } = started(engine);
          for (const at of wakes) clock.setTimer(() => engine.wake(), at);
          await clock.advance(stopAt);
          stop();
          const claims = work.claims.length;
          await clock.advance(500 + 200);
          expect(state.end).toBe("resolved");
          await clock.advance(5000);
          expect(work.claims).toHaveLength(claims);
          expect(work.mostRunning).toBeLessThanOrEqual(slots);
          expect(work.mostInHand).toBeLessThanOrEqual(slots + prefetch);
          const touched = [...work.performed, ...work.givenBack];
          expect(new Set(touched).size).toBe(touched.length);
          expect(touched.length + work.rows.length).toBe(all.length);
          expect(clock.timers).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("an engine with several claims in flight", () => {
  const apart = { slots: 4, inHand: 4, mostClaims: 4 };

  test("fills its slots side by side, a row a claim", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock, 40);
    work.claimMs = 10;
    work.performMs = 30;
    const { stop } = started(engineOn(work, apart));
    await clock.advance(10);
    expect(work.mostRunning).toBe(1);
    // One row was there, so the others look at once: 10 ms for all three, not 30.
    await clock.advance(10);
    expect(work.mostRunning).toBe(4);
    await clock.advance(100);
    expect(work.performed.length).toBeGreaterThanOrEqual(10);
    expect(work.mostInHand).toBe(4);
    stop();
    await clock.advance(1000);
  });

  test("N10: polls with one claim while there is nothing, however many slots are idle", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock);
    const engine = engineOn(work, { ...apart, slots: 50, inHand: 50, mostClaims: 50 });
    const { stop } = started(engine);
    await clock.advance(0);
    expect(work.claims).toHaveLength(1);
    for (let n = 0; n < 20; n += 1) engine.wake();
    await clock.advance(0);
    expect(work.claims).toHaveLength(2);
    stop();
    await clock.advance(0);
  });

  test("gives back at a stop whatever its claims in flight still bring", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock, 40);
    work.claimMs = 10;
    work.performMs = HOUR;
    const { state, stop } = started(engineOn(work, apart));
    await clock.advance(15);
    stop();
    await clock.advance(10_000);
    expect(state.end).toBe("resolved");
    expect(work.givenBack).toHaveLength(3);
    expect(work.performed).toHaveLength(1);
  });

  test("counts one outage where several claims fail together", async () => {
    const clock = new TestClock();
    const work = new ScriptedWork(clock, 40);
    const logger = new LineLogger();
    const { stop } = started(engineOn(work, apart, logger));
    await clock.advance(5);
    work.claimError = new Error("gone");
    await clock.advance(500);
    const before = work.claims.length;
    await clock.advance(120_000);
    expect(work.claims.length - before).toBeLessThan(12);
    stop();
    await clock.advance(0);
  });
});

test("a paused engine claims nothing, works what it has, and goes on at once when it is resumed", async () => {
  const clock = new TestClock();
  const work = new ScriptedWork(clock, 1);
  const engine = engineOn(work);
  const { stop } = started(engine);
  engine.pause();
  await clock.advance(10_000);
  const before = work.claims.length;
  expect(engine.state).toBe("paused");
  work.add(3);
  engine.wake();
  await clock.advance(10_000);
  expect(work.claims).toHaveLength(before);
  engine.resume();
  await clock.advance(100);
  expect(work.performed).toHaveLength(4);
  stop();
  await clock.advance(0);
});

test("idle resolves when a claim found nothing and nothing is in hand", async () => {
  const clock = new TestClock();
  const work = new ScriptedWork(clock, 5);
  work.claimMs = 5;
  const engine = engineOn(work);
  const { stop } = started(engine);
  let performed: number | undefined;
  void engine.idle().then(() => {
    performed = work.performed.length - work.inHand.size;
  });
  await clock.advance(15);
  expect(performed).toBeUndefined();
  await clock.advance(100);
  expect(performed).toBe(5);
  work.add(1);
  void engine.idle().then(() => {
    performed = work.performed.length - work.inHand.size;
  });
  await clock.advance(100);
  expect(performed).toBe(6);
  stop();
  await clock.advance(0);
  await engine.idle();
});
