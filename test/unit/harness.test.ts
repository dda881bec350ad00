import { describe, expect, test } from "vitest";
import { pause } from "../../src/clock.ts";
import { chosenDatabases, requiredDatabases } from "../support/requirements.ts";
import { TestClock } from "../support/test-clock.ts";
import { until } from "../support/until.ts";

describe("INTRAY_REQUIRE", () => {
  test("names with commas between, or all, or nothing", () => {
    expect([...requiredDatabases("pglite, postgres,")]).toEqual(["pglite", "postgres"]);
    expect([...requiredDatabases("all")]).toEqual([
      "postgres",
      "pglite",
      "sqlite",
      "mariadb",
      "mysql",
      "sqlserver",
    ]);
    expect([...requiredDatabases(undefined)]).toEqual([]);
  });

  test("INTRAY_ONLY chooses, and without it all are chosen", () => {
    expect([...chosenDatabases("sqlite")]).toEqual(["sqlite"]);
    expect([...chosenDatabases("")]).toEqual([...requiredDatabases("all")]);
    expect(() => chosenDatabases("oracle")).toThrow(/INTRAY_ONLY names "oracle"/);
  });

  test("an unknown name is an error that says what it takes", () => {
    expect(() => requiredDatabases("postgres,oracle")).toThrow(
      /"oracle".*postgres, pglite, sqlite/,
    );
  });
});

describe("until", () => {
  test("resolves with the condition's answer", async () => {
    let looks = 0;
    const answer = await until(() => (++looks === 3 ? { looks } : undefined), { interval: 1 });
    expect(answer.looks).toBe(3);
  });

  test("fails at its deadline with the last answer, or with the error as cause", async () => {
    await expect(until(() => 0, { deadline: 5, what: "a row" })).rejects.toThrow(
      "not within 5 ms: a row (last answer: 0)",
    );
    const cause = new Error("no table");
    await expect(until(() => Promise.reject(cause), { deadline: 5 })).rejects.toMatchObject({
      cause,
    });
  });
});

describe("TestClock", () => {
  test("stands still until it is moved, and runs timers at their instants in order", async () => {
    const clock = new TestClock();
    const calls: string[] = [];
    const say = (word: string) => () => calls.push(`${word} at ${clock.monotonic()}`);
    clock.setTimer(say("b"), 20);
    clock.setTimer(say("a"), 10);
    clock.setTimer(say("never"), 15).cancel();
    expect(clock.next).toBe(10);
    await clock.advance(19);
    expect(calls).toEqual(["a at 10"]);
    await clock.advance(1);
    expect(calls).toEqual(["a at 10", "b at 20"]);
    expect([clock.timers, clock.next]).toEqual([0, undefined]);
  });

  test("a timer that a continuation sets runs within the same advance", async () => {
    const clock = new TestClock();
    const done: number[] = [];
    const loop = async () => {
      for (let round = 0; round < 3; round++) {
        await pause(clock, 100);
        done.push(clock.monotonic());
      }
    };
    const running = loop();
    await clock.advance(300);
    await running;
    expect(done).toEqual([100, 200, 300]);
  });
});
