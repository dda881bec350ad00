import { describe, expect, test } from "vitest";
import { defaultSchema, type InboxSchema } from "../../src/queuebox/index.ts";
import { openInbox } from "../support/inbox.ts";
import { forEachInbox, type Open } from "../support/sources.ts";
import { eventually, work } from "../support/work-inbox.ts";

const mapped: InboxSchema = {
  table: "messaging.in_box",
  id: "message_id",
  consumption: "mode",
  source: "origin",
  state: "stage",
  scheduledAt: "due_at",
  createdAt: "made_at",
  claimToken: "token",
  claimedAt: "taken_at",
  leaseExpiresAt: "held_until",
  processedAt: "done_at",
  attempt: "tries",
  lastError: "failure",
  idempotencyKey: "dedup",
  aggregateId: "stream",
  eventType: "kind",
  payload: "body",
  headers: "meta",
  correlationId: "trace",
};

/** Databases that have the schema which the mapped table is in. */
function withSchema(open: Open): Open {
  return async (options) => {
    const opened = await open(options);
    await opened.query("CREATE SCHEMA messaging");
    return opened;
  };
}

describe("the table at the start of a worker", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("may have other names, in a schema of its own, through every state of a message", async () => {
      const inbox = await openInbox(withSchema(open), { schema: mapped });
      await inbox.insert(
        { key: "done", aggregateId: "a", eventType: "e", correlationId: "c", headers: { h: "1" } },
        { key: "retried" },
        { key: "dead" },
      );
      const seen: unknown[] = [];
      const { stop } = work(
        inbox.source,
        async (message, tx) => {
          await tx.query(words.effect, [message.idempotencyKey]);
          if (message.idempotencyKey === "done") seen.push(message);
          else throw new Error(message.idempotencyKey);
        },
        {
          schema: mapped,
          retryPolicy: ({ idempotencyKey }) =>
            idempotencyKey === "dead" ? { retry: false } : { retry: true, delayMs: 3_600_000 },
        },
      );
      await eventually(async () => (await inbox.count("dead")) === 1);
      await eventually(async () => (await inbox.row("retried")).attempt === 1);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(seen).toMatchObject([
        {
          source: "orders",
          aggregateId: "a",
          eventType: "e",
          correlationId: "c",
          headers: { h: "1" },
        },
      ]);
      expect(await inbox.effects()).toEqual(["done"]);
      expect((await inbox.row("dead")).lastError).toBe("Error: dead");
    });

    test("that is missing stops the worker with an error that names it, and V10", async () => {
      const { source } = await open();
      const { ended } = work(source, () => {}, {
        schema: { ...defaultSchema, table: "app.letters" },
      });
      await expect(ended).rejects.toMatchObject({
        code: "SCHEMA",
        message: expect.stringMatching(/no table app\.letters.*V10/),
      });
    });

    test("that lacks columns stops the worker with an error that names each of them, and V10", async () => {
      const inbox = await openInbox(open);
      await inbox.query(words.rename("headers", "no_headers"));
      await inbox.query(words.rename("last_error", "no_error"));
      await inbox.insert().catch(() => undefined);
      const { ended } = work(inbox.source, () => {});
      await expect(ended).rejects.toMatchObject({
        code: "SCHEMA",
        message: expect.stringMatching(/table inbox has no columns last_error, headers.*V10/),
      });
      await inbox.query(words.rename("no_error", "last_error"));
      const again = work(inbox.source, () => {});
      await expect(again.ended).rejects.toThrow(/table inbox has no column headers\./);
    });

    test("without the index that bounds a claim past a hot aggregate is told so once; with it, nothing is said", async () => {
      for (const extraIndexes of [false, true]) {
        const inbox = await openInbox(open, { extraIndexes });
        await inbox.insert({ key: "a" });
        const { logger, stop } = work(inbox.source, () => {});
        await eventually(async () => (await inbox.count("processed")) === 1);
        await stop();
        const advice = logger.of("index_advice");
        expect(advice).toHaveLength(extraIndexes ? 0 : 1);
        if (!extraIndexes) {
          const ddl = String(advice[0]?.fields["ddl"]);
          await inbox.query(ddl);
        }
      }
    });
  });
});
