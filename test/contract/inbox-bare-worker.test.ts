import { describe, expect, test } from "vitest";
import { bind } from "../../src/dialect/bind.ts";
import type { Connection } from "../../src/driver/connection.ts";
import {
  defaultSchema,
  type InboxStatement,
  type InboxStatements,
  inboxSql,
  MAX_ERROR_LENGTH,
} from "../../src/queuebox/index.ts";
import { openInbox } from "../support/inbox.ts";
import type { InboxWords } from "../support/inbox-words.ts";
import { forEachInbox } from "../support/sources.ts";
import { eventually, latch, work } from "../support/work-inbox.ts";

/** What a worker in another language has: the five statements and a connection. */
class BareWorker {
  readonly #connection: Connection;
  readonly #words: InboxWords;
  readonly #sql: InboxStatements;

  constructor(connection: Connection, words: InboxWords) {
    this.#connection = connection;
    this.#words = words;
    this.#sql = inboxSql(words.dialect, defaultSchema);
  }

  async claim(batch: number, leaseMs = 600_000): Promise<Claimed[]> {
    const values = { source: "orders", batch, leaseMs, candLimit: Math.max(50, 3 * batch) };
    await this.#connection.begin();
    const { rows } = await this.#run<Claimed>(this.#sql.claim, values);
    await this.#connection.commit();
    return rows;
  }

  renew = (row: Claimed, leaseMs: number) =>
    this.#change(this.#sql.renew, { ...ours(row), leaseMs });
  complete = (row: Claimed) => this.#change(this.#sql.complete, ours(row));
  retry = (row: Claimed, delayMs: number, error: string) =>
    this.#change(this.#sql.retry, { ...ours(row), delayMs, error });
  dead = (row: Claimed, error: string) => this.#change(this.#sql.dead, { ...ours(row), error });

  /** One message with a write of its own in the transaction that completes it. */
  async work(row: Claimed, what: string): Promise<void> {
    await this.#connection.begin();
    await this.#connection.query(this.#words.effect, [what]);
    expect(await this.complete(row)).toBe(1);
    await this.#connection.commit();
  }

  async #change(statement: InboxStatement, values: Record<string, unknown>): Promise<number> {
    return (await this.#run(statement, values)).rowCount;
  }

  #run<Row>(statement: InboxStatement, values: Record<string, unknown>) {
    const { text, params } = bind(statement, values);
    return this.#connection.query<Row>(text, params);
  }
}

interface Claimed {
  readonly id: string;
  readonly idempotency_key: string;
  readonly aggregate_id: string | null;
  readonly payload: unknown;
  readonly headers: unknown;
  readonly attempt: number;
  readonly claim_token: string;
}

function ours({ id, claim_token }: Claimed): Record<string, unknown> {
  return { id, token: claim_token };
}

/** A column of JSON as drivers read it, and a text that holds some. */
function json(value: unknown): unknown {
  return typeof value === "string" ? JSON.parse(value) : value;
}

describe("a worker that runs nothing but the five statements", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("claims in order, renews, completes, retries and buries behind one fence; a stale token changes nothing", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(
        { key: "done", payload: { n: 1 }, headers: { h: "1" }, dueInMs: -4000 },
        { key: "retried", dueInMs: -3000 },
        { key: "dead", dueInMs: -2000 },
        { key: "left", dueInMs: -1000 },
      );
      const connection = await inbox.source.connect();
      const bare = new BareWorker(connection, words);
      const claimed = await bare.claim(3);
      expect(claimed.map((row) => row.idempotency_key)).toEqual(["done", "retried", "dead"]);
      expect(claimed[0]).toMatchObject({ attempt: 0 });
      expect(json(claimed[0]?.payload)).toEqual({ n: 1 });
      expect(json(claimed[0]?.headers)).toEqual({ h: "1" });
      const [done, retried, dead] = claimed;
      if (done === undefined || retried === undefined || dead === undefined)
        throw new Error("three");
      const stale = { ...done, claim_token: retried.id };
      expect(await bare.renew(stale, 1000)).toBe(0);
      if (words.dialect === "postgresql") {
        // A claim has one token on SQL Server, and here one a row.
        expect(await bare.renew({ ...done, claim_token: retried.claim_token }, 1000)).toBe(0);
      }
      expect(await bare.complete({ ...done, claim_token: dead.id })).toBe(0);
      expect(await bare.retry({ ...done, claim_token: dead.id }, 0, "x")).toBe(0);
      expect(await bare.dead({ ...done, claim_token: dead.id }, "x")).toBe(0);
      expect(await bare.renew(done, 600_000)).toBe(1);
      await bare.work(done, "bare");
      expect(await bare.complete(done)).toBe(0);
      expect(await bare.retry(retried, 3_600_000, "x".repeat(MAX_ERROR_LENGTH))).toBe(1);
      expect(await bare.dead(dead, "no stock")).toBe(1);
      await connection.release();
      expect(await inbox.row("done")).toMatchObject({ state: "processed" });
      expect(await inbox.row("retried")).toMatchObject({
        state: "pending",
        attempt: 1,
        token: null,
      });
      expect(await inbox.row("dead")).toMatchObject({
        state: "dead",
        attempt: 0,
        lastError: "no stock",
      });
      expect(await inbox.row("left")).toMatchObject({ state: "pending" });
    });
  });

  forEachInbox({ connections: "many" }, (open, words) => {
    test("shares a table with an InboxWorker: each message once, and neither takes what the other holds", async () => {
      const inbox = await openInbox(open);
      const rows = Array.from({ length: 30 }, (_, n) => ({
        key: `m-${n}`,
        aggregateId: n % 3 === 0 ? null : `a-${n % 4}`,
      }));
      await inbox.insert(...rows);
      const { stop } = work(
        inbox.source,
        async ({ idempotencyKey }, tx) => {
          await tx.query(words.effect, [idempotencyKey]);
        },
        { batchSize: 3, maxConcurrency: 3 },
      );
      const connection = await inbox.another().connect();
      const bare = new BareWorker(connection, words);
      await eventually(async () => {
        for (const row of await bare.claim(2)) await bare.work(row, row.idempotency_key);
        return (await inbox.count("processed")) === 30;
      });
      await stop();
      await connection.release();
      const effects = await inbox.effects();
      expect(effects).toHaveLength(30);
      expect(new Set(effects).size).toBe(30);
    });

    test("an aggregate that one of them works is busy for the other, either way round", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(
        ...["a-1", "a-2"].map((key) => ({ key, aggregateId: "a" })),
        ...["b-1", "b-2"].map((key) => ({ key, aggregateId: "b" })),
      );
      const connection = await inbox.another().connect();
      const bare = new BareWorker(connection, words);
      const [first] = await bare.claim(1);
      expect(first?.idempotency_key).toBe("a-1");
      const running = latch();
      const seen: string[] = [];
      const { stop } = work(inbox.source, async ({ idempotencyKey }) => {
        seen.push(idempotencyKey);
        await running.opened;
      });
      await eventually(() => seen.length === 1);
      expect(seen).toEqual(["b-1"]);
      expect(await bare.claim(10)).toEqual([]);
      if (first !== undefined) await bare.complete(first);
      const [next] = await bare.claim(10);
      // One of the two has it, never both.
      if (next !== undefined) {
        expect(next.idempotency_key).toBe("a-2");
        await bare.complete(next);
      }
      running.open();
      await eventually(async () => (await inbox.count("processed")) === 4);
      await stop();
      await connection.release();
      expect(seen.filter((key) => key === "a-2")).toHaveLength(next === undefined ? 1 : 0);
    });
  });
});
