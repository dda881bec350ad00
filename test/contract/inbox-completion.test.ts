import { describe, expect, test } from "vitest";
import { EFFECT, openInbox } from "../support/inbox.ts";
import { forEachInbox, forEachSource } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, latch, WatchedSource, work } from "../support/work-inbox.ts";

describe("the completion of a message", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("a completion that changes no row rolls the handler's writes back, and reports nothing as done", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const { logger, stop } = work(
        inbox.source,
        async (_message, tx) => {
          await tx.query(words.effect, ["a"]);
          await tx.query(`UPDATE inbox SET claim_token = ${words.uuid}`);
        },
        { leaseMs: 600_000 },
      );
      await eventually(() => logger.of("lease_lost").length === 1);
      await stop();
      expect(await inbox.effects()).toEqual([]);
      expect(await inbox.row("a")).toMatchObject({
        state: "processing",
        attempt: 0,
        lastError: null,
      });
      expect(logger.of("lease_lost")[0]?.level).toBe("warn");
    });
  });

  forEachInbox({ connections: "many" }, (open, words) => {
    test("a message that another took while its handler ran keeps nothing of the handler", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const { logger, stop } = work(
        inbox.source,
        async (_message, tx) => {
          await tx.query(words.effect, ["a"]);
          await inbox.query(`UPDATE inbox SET claim_token = ${words.uuid}`);
        },
        { leaseMs: 600_000 },
      );
      await eventually(() => logger.of("lease_lost").length === 1);
      const stolen = await inbox.row("a");
      await stop();
      expect(await inbox.effects()).toEqual([]);
      expect({ ...(await inbox.row("a")), dueInMs: 0 }).toEqual({ ...stolen, dueInMs: 0 });
      expect(stolen).toMatchObject({ state: "processing", attempt: 0, lastError: null });
    });
  });

  forEachSource({ connections: "one" }, (name, open) => {
    test("T14: an SQL error that the handler swallowed fails the message, with the error in its text", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const { logger, stop } = work(inbox.source, async (_message, tx) => {
        await tx.query(EFFECT, ["before"]);
        await tx.query("INSERT INTO effects (what) VALUES (NULL)").catch(() => undefined);
      });
      await eventually(() => logger.of("retried").length === 1);
      await stop();
      const { lastError, attempt, state } = await inbox.row("a");
      expect({ attempt, state }).toEqual({ attempt: 1, state: "pending" });
      expect(lastError).toMatch(
        /aborted the handler's transaction.*caused by.*null value in column "what"/,
      );
      expect(await inbox.effects()).toEqual([]);
    });

    test("an SQL error behind a savepoint is the handler's own business", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const { stop } = work(inbox.source, async (_message, tx) => {
        await tx.query("SAVEPOINT s");
        await tx.query("SELECT 1 / 0").catch(() => tx.query("ROLLBACK TO SAVEPOINT s"));
        await tx.query(EFFECT, ["after"]);
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.effects()).toEqual(["after"]);
    });

    test("T4: a constraint that fails at COMMIT is a failure of the message, retried by the policy", async () => {
      const inbox = await openInbox(open);
      await inbox.query(
        "CREATE TABLE once (what text UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO once VALUES ('a')",
      );
      await inbox.insert({ key: "a" }, { key: "b" });
      const { logger, stop } = work(inbox.source, async ({ idempotencyKey }, tx) => {
        await tx.query("INSERT INTO once VALUES ($1)", [idempotencyKey]);
        await tx.query(EFFECT, [idempotencyKey]);
      });
      await eventually(() => logger.of("retried").length === 1);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      const { lastError, ...row } = await inbox.row("a");
      expect(row).toMatchObject({ state: "pending", attempt: 1 });
      expect(lastError).toMatch(/duplicate key value violates unique constraint/);
      expect(await inbox.effects()).toEqual(["b"]);
    });

    test("T5: completions that keep failing by a deadlock back off, and log no faster than that", async () => {
      const inbox = await openInbox(open);
      await inbox.query(`CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$;
        CREATE TRIGGER deadlock BEFORE UPDATE ON inbox FOR EACH ROW WHEN (NEW.state = 'processed')
        EXECUTE FUNCTION deadlock()`);
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      const watched = new WatchedSource(inbox.source);
      const { logger, stop } = work(watched, () => {}, {
        clock,
        pollIntervalMs: 1000,
        batchSize: 1,
      });
      for (let round = 0; round < 6; round++) {
        await eventually(
          () =>
            watched.inUse === 0 && clock.timers === 1 && logger.of("redelivered").length > round,
        );
        expect(logger.of("redelivered")).toHaveLength(round + 1);
        const wait = clock.next ?? 0;
        expect(wait).toBeGreaterThanOrEqual(Math.min(800 * 2 ** round, 24_000));
        if (round === 5) await inbox.query("DROP TRIGGER deadlock ON inbox");
        await clock.advance(wait);
      }
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({ attempt: 0, lastError: null });
    });

    test("T3: a completion that fails leaves no connection in an aborted transaction, also where the handler asked nothing", async () => {
      const inbox = await openInbox(open, { max: 2 });
      await inbox.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF NEW.state = 'processed' AND NEW.idempotency_key LIKE 'bad%' THEN RAISE EXCEPTION 'refused'; END IF;
          RETURN NEW;
        END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON inbox FOR EACH ROW EXECUTE FUNCTION refuse()`);
      await inbox.insert({ key: "bad-1" }, { key: "good-1" }, { key: "bad-2" }, { key: "good-2" });
      const { logger, stop } = work(inbox.source, async ({ idempotencyKey }, tx) => {
        if (idempotencyKey.endsWith("2")) await tx.query(EFFECT, [idempotencyKey]);
      });
      await eventually(() => logger.of("retried").length === 2);
      await eventually(async () => (await inbox.count("processed")) === 2);
      await stop();
      expect((await inbox.row("bad-1")).lastError).toMatch(/refused/);
      expect(await inbox.effects()).toEqual(["good-2"]);
      expect(logger.of("claim_failed")).toEqual([]);
      // Whoever uses the pool next finds its connections whole.
      for (const connection of [await inbox.source.connect()]) {
        expect((await connection.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
        await connection.release();
      }
    });

    test.each(["repeatable read", "serializable"])(
      "is READ COMMITTED where sessions default to %s, and so is the claim",
      async (level) => {
        const inbox = await openInbox(open);
        await inbox.query(
          `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = %L', current_database(), '${level}'); END $$`,
        );
        if (name === "pglite") await inbox.query(`SET default_transaction_isolation = '${level}'`);
        await inbox.insert(...Array.from({ length: 12 }, (_, n) => ({ key: `m-${n}` })));
        const levels: unknown[] = [];
        const workers = [inbox.source, inbox.another()].map((source) =>
          work(
            source,
            async ({ idempotencyKey }, tx) => {
              if (idempotencyKey !== "m-0") return;
              levels.push(...(await tx.query("SHOW default_transaction_isolation")).rows);
              levels.push(...(await tx.query("SHOW transaction_isolation")).rows);
            },
            { batchSize: 2, maxConcurrency: 2 },
          ),
        );
        await eventually(async () => (await inbox.count("processed")) === 12);
        await Promise.all(workers.map(({ stop }) => stop()));
        expect(levels).toEqual([
          { default_transaction_isolation: level },
          { transaction_isolation: "read committed" },
        ]);
        expect(workers.flatMap(({ logger }) => logger.of("claim_failed"))).toEqual([]);
        expect(workers.flatMap(({ logger }) => logger.of("redelivered"))).toEqual([]);
      },
    );
  });

  forEachSource({ connections: "many" }, (_name, open) => {
    test("T5: a deadlock or a lock that is not free spends no attempt, in the claim and in the completion", async () => {
      const inbox = await openInbox(open);
      await inbox.query(`CREATE TABLE trouble (state text, code text);
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE code text;
        BEGIN
          SELECT t.code INTO code FROM trouble AS t WHERE t.state = NEW.state;
          IF code IS NOT NULL THEN RAISE EXCEPTION 'in trouble' USING ERRCODE = code; END IF;
          RETURN NEW;
        END $$;
        CREATE TRIGGER fail BEFORE UPDATE ON inbox FOR EACH ROW EXECUTE FUNCTION fail();
        INSERT INTO trouble VALUES ('processing', '55P03')`);
      await inbox.insert({ key: "a" });
      let deliveries = 0;
      const { logger, stop } = work(inbox.source, () => {
        deliveries += 1;
      });
      await eventually(() => logger.of("claim_failed").length === 2);
      expect(deliveries).toBe(0);
      await inbox.query("UPDATE trouble SET state = 'processed', code = '40P01'");
      await eventually(() => logger.of("redelivered").length >= 2);
      await inbox.query("UPDATE trouble SET code = '40001'");
      await eventually(() => logger.of("redelivered").length >= 4);
      await inbox.query("DELETE FROM trouble");
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({ attempt: 0, lastError: null });
      expect(logger.of("claim_failed_recovered")).toHaveLength(1);
      expect(logger.of("retried")).toEqual([]);
    });

    test("T15: a server that ends idle transactions is warned of at the start, and the message comes again", async () => {
      const inbox = await openInbox(open);
      await inbox.query(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET idle_in_transaction_session_timeout = 50', current_database()); END $$",
      );
      await inbox.insert({ key: "a" });
      const ended = latch();
      const { logger, stop } = work(inbox.source, async ({ attempt }, tx) => {
        const { rows } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
        await tx.query(EFFECT, [String(attempt)]);
        if (attempt > 0) return;
        await eventually(async () => {
          const sql = "SELECT FROM pg_stat_activity WHERE pid = $1";
          return (await inbox.query(sql, [rows[0]?.pid])).rowCount === 0;
        });
        ended.open();
      });
      await ended.opened;
      await eventually(async () => (await inbox.row("a")).attempt === 1);
      await inbox.query("UPDATE inbox SET scheduled_at = now()");
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.effects()).toEqual(["1"]);
      expect(logger.of("server_timeout")).toMatchObject([
        {
          level: "warn",
          fields: { setting: "idle_in_transaction_session_timeout", timeoutMs: 50 },
        },
      ]);
    });
  });
});
