/** How the claims of every group go round, where one does not look at all groups. */
import { expect, test } from "vitest";
import { bind } from "../../src/dialect/bind.ts";
import type { ClaimedRow } from "../../src/dialect/dialect.ts";
import type { Connection, QueryResult } from "../../src/driver/connection.ts";
import { GroupWalk } from "../../src/form/group-walk.ts";

const STATEMENT = { text: "the last group behind", params: ["after"] };

/** Groups "1" to the last one, of which a claim looks at two. */
class Groups implements Connection {
  readonly #last: number;
  asked = 0;

  constructor(last: number) {
    this.#last = last;
  }

  async query<Row>(_text: string, [after]: readonly unknown[] = []): Promise<QueryResult<Row>> {
    this.asked += 1;
    if (this.#last < 2) return { rows: [], rowCount: 0 };
    const group = String(((Number(after ?? 0) + 1) % this.#last) + 1);
    return { rows: [{ group }] as Row[], rowCount: 1 };
  }
  async begin(): Promise<void> {}
  async commit(): Promise<void> {}
  async rollback(): Promise<void> {}
  release(): void {}
}

const walkOf = () => new GroupWalk({ bound: bind }, STATEMENT);

function rowsOf(...groups: (string | null)[]): ClaimedRow[] {
  return groups.map((group, n) => ({ id: `${n}`, token: null, attempt: null, group, key: group }));
}

test("47: the first claim begins with the first group, and each goes on where the last one ended, round the circle", async () => {
  const walk = walkOf();
  const groups = new Groups(5);
  const begun: (string | null)[] = [];
  for (let claim = 1; claim <= 6; claim += 1) {
    begun.push(walk.position.after);
    await walk.foundNothing(walk.position, groups);
  }
  expect(begun).toEqual([null, "2", "4", "1", "3", "5"]);
});

test("47: a claim that answers rows is followed by one from behind their group, without a question", () => {
  const walk = walkOf();
  walk.claimed(walk.position, rowsOf("3", "1"));
  expect(walk.position.after).toBe("3");
});

test("47: where a claim has seen all groups, the next begins where it did", async () => {
  const walk = walkOf();
  const groups = new Groups(1);
  await walk.foundNothing(walk.position, groups);
  expect([walk.position.after, groups.asked]).toEqual([null, 1]);
  walk.claimed(walk.position, rowsOf("1"));
  await walk.foundNothing(walk.position, groups);
  expect(walk.position.after).toBe("1");
});

test("47: of two claims at once the later one does not set the other back, wherever that has come", async () => {
  const walk = walkOf();
  const groups = new Groups(5);
  walk.claimed(walk.position, rowsOf("4"));
  const slow = walk.position;
  await walk.foundNothing(walk.position, groups);
  expect(walk.position.after).toBe("1");
  walk.claimed(slow, rowsOf("5"));
  await walk.foundNothing(slow, groups);
  expect(walk.position.after).toBe("1");
  // Round the circle, to where the slow one has begun.
  walk.claimed(walk.position, rowsOf("4"));
  walk.claimed(slow, rowsOf("5"));
  expect(walk.position.after).toBe("4");
});

test("47: a claim that looks at all groups is followed by no question, and moves nothing", async () => {
  const walk = new GroupWalk({ bound: bind }, undefined);
  const groups = new Groups(5);
  await walk.foundNothing(walk.position, groups);
  walk.claimed(walk.position, rowsOf("3"));
  expect([walk.position.after, groups.asked]).toEqual([null, 0]);
});
