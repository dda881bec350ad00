import pg from "pg";
import { describe, expect, test } from "vitest";
import type { Connection, ConnectionSource } from "../../src/driver/connection.ts";
import { EFFECT, openInbox } from "../support/inbox.ts";
import { addRows } from "../support/inbox-rows.ts";
import { forEachSource } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, latch, WatchedSource, work } from "../support/work-inbox.ts";

const HOUR = 3_600_000;

/** Six functions and nothing else: whatever is released goes to the next one, in whatever state. */
class CarelessSource implements ConnectionSource {
  readonly #url: string;
  readonly #idle: pg.Client[] = [];
  readonly #all: pg.Client[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  async connect(): Promise<Connection> {
    const client = this.#idle.pop() ?? (await this.#make());
    const query: Connection["query"] = async (text, params = []) => {
      try {
        const { rows, rowCount } = await client.query(text, [...params]);
        return { rows, rowCount: rowCount ?? 0 };
      } catch (error) {
        // Nor does it keep what kind of error it was.
        throw new Error(`the database said: ${error instanceof Error ? error.message : "?"}`);
      }
    };
    return {
      query,
      begin: async () => void (await query("BEGIN")),
      commit: async () => void (await query("COMMIT")),
      rollback: async () => void (await query("ROLLBACK")),
      release: () => void this.#idle.push(client),
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#all.map((client) => client.end()));
  }

  async #make(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#url });
    client.on("error", () => undefined);
    await client.connect();
    this.#all.push(client);
    return client;
  }
}

describe("a source of six functions that reuses whatever comes back", () => {
  forEachSource({ connections: "many" }, (name, open) => {
    test("S14: a claim that walks over aggregates with nothing due comes to rest", async () => {
      const inbox = await openInbox(open, { extraIndexes: true });
      await addRows(inbox, { count: 60, aggregate: "'hot'" });
      await addRows(inbox, { count: 3000, aggregate: "'a' || n", startSeconds: 3600 });
      await inbox.query(
        `UPDATE inbox SET state = 'processing', claim_token = gen_random_uuid(),
          lease_expires_at = now() + interval '1 hour'
        WHERE id = (SELECT id FROM inbox WHERE aggregate_id = 'hot' ORDER BY scheduled_at LIMIT 1)`,
      );
      const clock = new TestClock();
      const watched = new WatchedSource(inbox.source);
      const { stop } = work(watched, () => {}, { clock, pollIntervalMs: HOUR, leaseMs: 10 * HOUR });
      await eventually(
        () => watched.connects >= 2 && clock.timers === 1 && (clock.next ?? 0) < 2 * HOUR,
      );
      // The look at the table, and one claim.
      expect(watched.connects).toBe(2);
      await stop();
    });

    // The rest is about the source above; one way to the database is enough.
    if (name !== "pg") return;

    test("T3: a failed claim leaves no aborted transaction behind", async () => {
      const inbox = await openInbox(open);
      const source = new CarelessSource(inbox.url ?? "");
      const { logger, stop } = work(source, () => {});
      await inbox.insert({ key: "first" });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await inbox.query("ALTER TABLE inbox RENAME TO away");
      await eventually(() => logger.of("claim_failed").length > 0);
      await inbox.query("ALTER TABLE away RENAME TO inbox");
      await inbox.insert({ key: "second" });
      await eventually(async () => (await inbox.row("second")).state === "processed");
      await stop();
      await source.end();
    });

    test("F1: what a lost delivery wrote is never committed by those that come after it", async () => {
      const inbox = await openInbox(open);
      const source = new CarelessSource(inbox.url ?? "");
      const clock = new TestClock();
      const written = latch();
      const never = latch();
      const { logger, stop } = work(
        source,
        async ({ idempotencyKey }, tx) => {
          await tx.query(EFFECT, [idempotencyKey]);
          if (idempotencyKey !== "stuck") return;
          written.open();
          await never.opened;
        },
        { clock, leaseMs: 3000 },
      );
      await inbox.insert({ key: "stuck" });
      await clock.advance(1000);
      await eventually(async () => {
        await clock.advance(20);
        return (await inbox.row("stuck")).state === "processing";
      });
      await written.opened;
      await inbox.query(
        "UPDATE inbox SET claim_token = gen_random_uuid(), lease_expires_at = now() + interval '1 hour'",
      );
      await eventually(async () => {
        await clock.advance(1000);
        return logger.of("lease_lost").length > 0;
      });
      await inbox.insert({ key: "n1" }, { key: "n2" }, { key: "n3" });
      await eventually(async () => {
        await clock.advance(20);
        return (await inbox.count("processed")) === 3;
      });
      expect([...(await inbox.effects())].sort()).toEqual(["n1", "n2", "n3"]);
      never.open();
      await stop();
      await source.end();
    });

    test("a stolen claim is never told as a commit that took effect", async () => {
      const inbox = await openInbox(open);
      const source = new CarelessSource(inbox.url ?? "");
      await inbox.insert({ key: "stolen" });
      const { logger, stop } = work(
        source,
        async ({ idempotencyKey }, tx) => {
          await tx.query(EFFECT, [idempotencyKey]);
          await inbox.query("UPDATE inbox SET claim_token = gen_random_uuid()");
        },
        { leaseMs: HOUR },
      );
      await eventually(() => logger.of("lease_lost").length > 0);
      await stop();
      await source.end();
      expect(logger.of("commit_confirmed")).toEqual([]);
      expect(await inbox.effects()).toEqual([]);
    });
  });
});
