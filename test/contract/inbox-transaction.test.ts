import { describe, expect, test } from "vitest";
import type { InboxTransaction } from "../../src/queuebox/index.ts";
import { EFFECT, openInbox } from "../support/inbox.ts";
import { forEachInbox, forEachSource } from "../support/sources.ts";
import { eventually, work } from "../support/work-inbox.ts";

describe("the handler's transaction", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("waits for queries that the handler did not await", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const { stop } = work(inbox.source, (_message, tx) => {
        for (const what of ["1", "2", "3"]) void tx.query(words.effect, [what]);
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.effects()).toEqual(["1", "2", "3"]);
    });

    test("a query that fails unawaited fails the message, and ends no process", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const { logger, stop } = work(inbox.source, (_message, tx) => {
        void tx.query(words.effect, ["1"]);
        void tx.query("SELECT 1 / 0");
      });
      await eventually(() => logger.of("retried").length === 1);
      await stop();
      expect((await inbox.row("a")).lastError).toMatch(/divi(sion|de) by zero/i);
      expect(await inbox.effects()).toEqual([]);
    });

    test("refuses queries after the handler's end, and the client too", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" }, { key: "b" });
      const leaked: InboxTransaction[] = [];
      const { stop } = work(inbox.source, async ({ idempotencyKey }, tx) => {
        leaked.push(tx);
        await tx.query(words.effect, [idempotencyKey]);
        if (idempotencyKey === "a") throw new Error("no stock");
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await eventually(async () => (await inbox.row("a")).attempt === 1);
      for (const tx of leaked) {
        await expect(tx.query(words.effect, ["late"])).rejects.toMatchObject({
          code: "TRANSACTION",
          message: expect.stringContaining("the handler has ended"),
        });
        await expect(tx.sql`SELECT 1`).rejects.toThrow(/the handler has ended/);
        expect(() => tx.client).toThrow(/the handler has ended/);
        expect(Object.isFrozen(tx)).toBe(true);
      }
      await stop();
      expect(await inbox.effects()).toEqual(["b"]);
    });
  });

  forEachSource({ connections: "one" }, (_name, open) => {
    test("takes SQL with the database's placeholders, and as a template that binds each value", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const answers: unknown[] = [];
      const { stop } = work(inbox.source, async (_message, tx) => {
        const evil = "x'); DROP TABLE effects; --";
        answers.push(await tx.query(EFFECT, ["one"]));
        answers.push(await tx.sql`INSERT INTO effects (what) VALUES (${evil}), (${"three"})`);
        answers.push((await tx.query("SELECT count(*)::int AS n FROM effects")).rows);
        answers.push(await tx.sql`SELECT what FROM effects WHERE what = ${"none"}`);
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(answers).toEqual([
        { rows: [], rowCount: 1 },
        { rows: [], rowCount: 2 },
        [{ n: 3 }],
        { rows: [], rowCount: 0 },
      ]);
      expect(await inbox.effects()).toEqual(["one", "x'); DROP TABLE effects; --", "three"]);
    });

    test("refuses to begin or end a transaction, by whatever word, and goes on", async () => {
      const texts = [
        "BEGIN",
        "start transaction",
        "COMMIT",
        "/* so */ commit and chain",
        "END",
        "ROLLBACK",
        "abort",
        "PREPARE TRANSACTION 'x'",
        "SELECT 1; COMMIT",
      ];
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const refusals: unknown[] = [];
      const { stop } = work(inbox.source, async (message, tx) => {
        for (const text of texts) {
          await tx.query(text).catch((error: unknown) => refusals.push(error));
        }
        await tx.query(EFFECT, [message.idempotencyKey]);
        await tx.query("SAVEPOINT s");
        await tx.query(EFFECT, ["undone"]);
        await tx.query("ROLLBACK TO s");
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(refusals).toHaveLength(texts.length);
      for (const refusal of refusals) expect(refusal).toMatchObject({ code: "TRANSACTION" });
      expect(await inbox.effects()).toEqual(["a"]);
    });

    test("P2: refusals that nobody awaits end no process", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const { stop } = work(inbox.source, (_message, tx) => {
        void tx.query("COMMIT");
        void Reflect.apply(tx.query, tx, [5]);
        void Reflect.apply(tx.query, tx, ["SELECT $1", "no array"]);
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
    });
  });

  forEachSource({ connections: "one" }, (_name, open) => {
    test("waits for what the handler sent through the driver's own client and did not await; a COMMIT there ends nothing", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "good" }, { key: "bad" });
      let hasClient = true;
      const { logger, stop } = work(inbox.source, async ({ idempotencyKey }, tx) => {
        const { client } = tx;
        const isQuerying = typeof client === "object" && client !== null && "query" in client;
        if (!isQuerying || typeof client.query !== "function") {
          hasClient = false;
          return;
        }
        for (const what of [`${idempotencyKey}-1`, `${idempotencyKey}-2`]) {
          void Reflect.apply(client.query, client, [EFFECT, [what]]);
        }
        if (idempotencyKey === "good") return;
        await Promise.resolve(Reflect.apply(client.query, client, ["COMMIT"])).catch(
          () => undefined,
        );
        throw new Error("no stock");
      });
      await eventually(async () => (await inbox.count("processed")) === (hasClient ? 1 : 2));
      if (hasClient) await eventually(() => logger.of("retried").length === 1);
      await stop();
      expect(await inbox.effects()).toEqual(hasClient ? ["good-1", "good-2"] : []);
    });
  });
});
