import { describe, expect, test } from "vitest";
import { Bell } from "../../src/engine/bell.ts";
import { TestClock } from "../support/test-clock.ts";

/** Whether a wait has ended, told at once. */
function watched(wait: Promise<void>): { readonly isOver: boolean } {
  const state = { isOver: false };
  void wait.then(() => {
    state.isOver = true;
  });
  return state;
}

describe("a bell", () => {
  test("N10: fifty rings before a wait end one wait", async () => {
    const clock = new TestClock();
    const bell = new Bell(clock);
    for (let n = 0; n < 50; n += 1) bell.ring();
    await bell.wait();
    const second = watched(bell.wait());
    await clock.advance(3_600_000);
    expect(second.isOver).toBe(false);
    bell.ring();
    await clock.advance(0);
    expect(second.isOver).toBe(true);
  });

  test("fifty rings in a wait end that one and no other", async () => {
    const clock = new TestClock();
    const bell = new Bell(clock);
    const first = watched(bell.wait(1000));
    for (let n = 0; n < 50; n += 1) bell.ring();
    await clock.advance(0);
    expect(first.isOver).toBe(true);
    const second = watched(bell.wait(1000));
    await clock.advance(999);
    expect(second.isOver).toBe(false);
    await clock.advance(1);
    expect(second.isOver).toBe(true);
    expect(clock.timers).toBe(0);
  });

  test("a ring that was silenced ends no wait", async () => {
    const clock = new TestClock();
    const bell = new Bell(clock);
    bell.ring();
    bell.silence();
    const wait = watched(bell.wait(1000));
    await clock.advance(999);
    expect(wait.isOver).toBe(false);
    await clock.advance(1);
    expect(wait.isOver).toBe(true);
  });

  test("a ring takes the timer of the wait away", async () => {
    const clock = new TestClock();
    const bell = new Bell(clock);
    const wait = bell.wait(1000);
    expect(clock.timers).toBe(1);
    bell.ring();
    await wait;
    expect(clock.timers).toBe(0);
  });
});
