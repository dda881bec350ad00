import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Slots } from "../../src/engine/slots.ts";

interface Row {
  readonly name: string;
  readonly key: string | null;
}

/** Rows by their names, `name` or `key:name`. */
function rows(...names: readonly string[]): Row[] {
  return names.map((name) => ({
    name,
    key: name.includes(":") ? (name.split(":")[0] ?? null) : null,
  }));
}

/** Slots, the names of what they started, and an end for one of them. */
function slotsOf(slots: number, inHand: number, lanes = false) {
  const started: string[] = [];
  const made = new Slots<Row>({ slots, inHand, lanes }, ({ name }) => started.push(name));
  return {
    slots: made,
    started,
    end(name: string) {
      for (const row of [...made.running]) if (row.name === name) made.free(row);
    },
  };
}

describe("slots", () => {
  test("start what fits, and the first that waits when one is free", () => {
    const { slots, started, end } = slotsOf(2, 4);
    slots.add(rows("a", "b", "c", "d"));
    expect(started).toEqual(["a", "b"]);
    expect(slots.waiting).toBe(2);
    end("b");
    expect(started).toEqual(["a", "b", "c"]);
  });

  test("want no more while a row waits for each of them", () => {
    const { slots, end } = slotsOf(1, 5);
    expect(slots.wanted).toBe(5);
    slots.add(rows("a", "b", "c", "d"));
    expect(slots.wanted).toBe(0);
    end("a");
    end("b");
    expect(slots.wanted).toBe(3);
  });

  test("with no prefetch, want what is free", () => {
    const { slots, end } = slotsOf(3, 3);
    slots.add(rows("a", "b", "c"));
    expect(slots.wanted).toBe(0);
    end("b");
    expect(slots.wanted).toBe(1);
  });

  test("give up what waits, and only that, when they are drained", () => {
    const { slots, end } = slotsOf(1, 3);
    slots.add(rows("a", "b", "c"));
    expect(slots.drain().map(({ name }) => name)).toEqual(["b", "c"]);
    expect([...slots.running].map(({ name }) => name)).toEqual(["a"]);
    end("a");
    expect(slots.running.size).toBe(0);
  });

  test("48: with lanes, rows of one key run one at a time and in order, others beside them", () => {
    const { slots, started, end } = slotsOf(3, 8, true);
    slots.add(rows("x:1", "x:2", "y:1", "x:3", "free", "y:2"));
    expect(started).toEqual(["x:1", "y:1", "free"]);
    end("y:1");
    expect(started).toEqual(["x:1", "y:1", "free", "y:2"]);
    end("free");
    expect(started).toHaveLength(4);
    end("x:1");
    end("x:2");
    expect(started.slice(4)).toEqual(["x:2", "x:3"]);
  });

  test("48: with lanes, want more while rows that wait for their keys leave slots idle", () => {
    const { slots } = slotsOf(2, 6, true);
    slots.add(rows("x:1", "x:2", "x:3", "x:4"));
    expect(slots.wanted).toBe(2);
    slots.add(rows("y:1"));
    expect(slots.wanted).toBe(0);
  });

  test("48: with lanes, whatever happens: one of a key at a time, each key in its order", () => {
    const step = fc.record({
      claims: fc.boolean(),
      key: fc.constantFrom("x", "y", ""),
      pick: fc.nat(7),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 60 }),
        (count, steps) => {
          const { slots, started, end } = slotsOf(count, count + 6, true);
          let claimed = 0;
          for (const { claims, key, pick } of steps) {
            if (!claims)
              end([...slots.running][pick % Math.max(1, slots.running.size)]?.name ?? "");
            else if (slots.wanted > 0)
              slots.add(rows(key === "" ? `${claimed}` : `${key}:${claimed}`));
            claimed += 1;
            const keys = [...slots.running].flatMap((row) => row.key ?? []);
            expect(new Set(keys).size).toBe(keys.length);
            expect(slots.running.size).toBeLessThanOrEqual(count);
          }
          for (const key of ["x:", "y:"]) {
            const places = started
              .filter((name) => name.startsWith(key))
              .map((name) => Number(name.slice(2)));
            expect(places).toEqual(places.toSorted((a, b) => a - b));
          }
        },
      ),
    );
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
          const { slots, started } = slotsOf(count, count + prefetch);
          let claimed = 0;
          for (const { kind, share } of steps) {
            if (kind === "claim") {
              const more = Math.round(share * slots.wanted);
              slots.add(rows(...Array.from({ length: more }, (_, index) => `${claimed + index}`)));
              claimed += more;
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
          expect(started).toEqual(Array.from({ length: started.length }, (_, index) => `${index}`));
          expect(started.length + slots.waiting).toBe(claimed);
        },
      ),
    );
  });
});
