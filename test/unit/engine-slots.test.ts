import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Slots } from "../../src/engine/slots.ts";

describe("slots", () => {
  test("start what fits, and the first that waits when one is free", () => {
    const started: string[] = [];
    const slots = new Slots<string>(2, 4, (each) => started.push(each));
    slots.add(["a", "b", "c", "d"]);
    expect(started).toEqual(["a", "b"]);
    expect(slots.waiting).toBe(2);
    slots.free("b");
    expect(started).toEqual(["a", "b", "c"]);
  });

  test("want no more while a row waits for each of them", () => {
    const slots = new Slots<number>(1, 5, () => undefined);
    expect(slots.wanted).toBe(5);
    slots.add([1, 2, 3, 4]);
    expect(slots.wanted).toBe(0);
    slots.free(1);
    slots.free(2);
    expect(slots.wanted).toBe(3);
  });

  test("with no prefetch, want what is free", () => {
    const slots = new Slots<number>(3, 3, () => undefined);
    slots.add([1, 2, 3]);
    expect(slots.wanted).toBe(0);
    slots.free(2);
    expect(slots.wanted).toBe(1);
  });

  test("give up what waits, and only that, when they are drained", () => {
    const slots = new Slots<number>(1, 3, () => undefined);
    slots.add([1, 2, 3]);
    expect(slots.drain()).toEqual([2, 3]);
    expect([...slots.running]).toEqual([1]);
    slots.free(1);
    expect(slots.running.size).toBe(0);
  });

  test("whatever happens: never more in hand than allowed, started in order, each once, no slot idle while one waits", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("claim"), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({
        kind: fc.constant("end"),
        share: fc.double({ min: 0, max: 0.999, noNaN: true }),
      }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 0, max: 12 }),
        fc.array(step, { maxLength: 60 }),
        (count, prefetch, steps) => {
          const started: number[] = [];
          const slots = new Slots<number>(count, count + prefetch, (each) => started.push(each));
          let claimed = 0;
          for (const { kind, share } of steps) {
            if (kind === "claim") {
              const rows = Math.round(share * slots.wanted);
              slots.add(Array.from({ length: rows }, (_, index) => claimed + index));
              claimed += rows;
            } else {
              const running = [...slots.running];
              const ended = running[Math.floor(share * running.length)];
              if (ended !== undefined) slots.free(ended);
            }
            expect(slots.wanted).toBeGreaterThanOrEqual(0);
            expect(slots.running.size).toBeLessThanOrEqual(count);
            expect(slots.running.size + slots.waiting).toBeLessThanOrEqual(count + prefetch);
            if (slots.waiting > 0) expect(slots.running.size).toBe(count);
            if (slots.running.size + slots.waiting === 0)
              expect(slots.wanted).toBe(count + prefetch);
          }
          expect(started).toEqual(Array.from({ length: started.length }, (_, index) => index));
          expect(started.length + slots.waiting).toBe(claimed);
        },
      ),
    );
  });
});
