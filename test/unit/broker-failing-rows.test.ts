import { describe, expect, test } from "vitest";
import { FailingRows } from "../../src/broker/failing-rows.ts";
import { TestClock } from "../support/test-clock.ts";

function failingRows(pollIntervalMs = 1000) {
  const clock = new TestClock();
  const holds: string[] = [];
  const failing = new FailingRows({
    clock,
    pollIntervalMs,
    hold: () => holds.push(`hold ${clock.monotonic()}`),
    release: () => holds.push(`release ${clock.monotonic()}`),
  });
  return { clock, failing, holds };
}

describe("51: rows that fail and come again at once", () => {
  test("hold claims back for the poll interval, then twice as long, up to 30 s", async () => {
    const { clock, failing, holds } = failingRows();
    const waits: number[] = [];
    for (let failure = 0; failure < 8; failure += 1) {
      const from = clock.monotonic();
      failing.failed("7");
      await clock.advance(clock.next ?? 0);
      waits.push(clock.monotonic() - from);
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    expect(holds.filter((each) => each.startsWith("release"))).toHaveLength(8);
  });

  test("a row that its handler asks for again holds nothing back the first time", async () => {
    const { clock, failing, holds } = failingRows();
    failing.askedAgain("7");
    expect(holds).toEqual([]);
    failing.askedAgain("7");
    await clock.advance(999);
    expect(holds).toEqual(["hold 0"]);
    await clock.advance(1);
    failing.askedAgain("7");
    await clock.advance(2000);
    expect(holds).toEqual(["hold 0", "release 1000", "hold 1000", "release 3000"]);
  });

  test("another row's failure does not shorten the wait, and a settled row starts anew", async () => {
    const { clock, failing, holds } = failingRows();
    for (let n = 0; n < 3; n += 1) failing.failed("7");
    failing.failed("8");
    await clock.advance(3999);
    expect(holds.filter((each) => each.startsWith("release"))).toEqual([]);
    await clock.advance(1);
    expect(holds.at(-1)).toBe("release 4000");
    failing.forget("7");
    expect(failing.count("7")).toBe(0);
    expect(failing.count("8")).toBe(1);
  });

  test("74: a stop leaves no timer", () => {
    const { clock, failing } = failingRows();
    failing.failed("7");
    expect(clock.timers).toBe(1);
    failing.stop();
    expect(clock.timers).toBe(0);
  });
});
