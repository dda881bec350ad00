import { describe, expect, test } from "vitest";
import { InboxWorker, retryAfter } from "../../src/queuebox/index.ts";
import { EFFECT, LineLogger, openInbox, start } from "../support/inbox.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

/** Where a session is killed at the message's first attempt; the key begins with it. */
const MOMENTS = [
  "begin",
  "write",
  "swallowed",
  "return",
  "random",
  "completion",
  "commit",
] as const;

/** Sessions that end themselves within the completion, and within COMMIT. */
const KILLING_TRIGGERS = `
  CREATE FUNCTION kill_session() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.state = 'processed' AND NEW.attempt = 0 AND starts_with(NEW.idempotency_key, TG_ARGV[0]) THEN
      PERFORM pg_terminate_backend(pg_backend_pid());
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER in_completion BEFORE UPDATE ON inbox
    FOR EACH ROW EXECUTE FUNCTION kill_session('completion');
  CREATE CONSTRAINT TRIGGER in_commit AFTER UPDATE ON inbox DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION kill_session('commit')`;

const KILL_IDLE_SESSIONS = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name <> 'test' AND state = 'idle'`;

/**
 * postgres.js asks for the types of arrays when it has connected, and a session that ends within that
 * question is a rejection in the library itself that nobody can handle.
 */
const KILL_IDLE_SESSIONS_LATER = `${KILL_IDLE_SESSIONS}
    AND query <> '' AND query NOT LIKE '%typarray%'`;

// A rejection that nobody handles fails the run: vitest's own check.
describe("sessions that the server ends", () => {
  forEachSource({ connections: "many" }, (name, open) => {
    test("F14, T13: a hundred handlers, each session killed at BEGIN, in the handler, in the completion or in COMMIT, have a hundred effects", {
      timeout: 60_000,
    }, async () => {
      const max = 6;
      const inbox = await openInbox(open, { max });
      await inbox.query(KILLING_TRIGGERS);
      const keys = Array.from({ length: 105 }, (_, n) => `${MOMENTS[n % MOMENTS.length]}-${n}`);
      await inbox.insert(...keys.map((key) => ({ key })));
      const killIdle = name === "postgres" ? KILL_IDLE_SESSIONS_LATER : KILL_IDLE_SESSIONS;
      const logger = new LineLogger();
      const kills: Promise<unknown>[] = [];
      const kill = (pid: unknown) => {
        const killed = inbox.query("SELECT pg_terminate_backend($1::int)", [pid]);
        kills.push(killed);
        return killed;
      };
      const worker = new InboxWorker(inbox.source, {
        source: "orders",
        batchSize: 8,
        maxConcurrency: 4,
        leaseMs: 5000,
        pollIntervalMs: 20,
        logger,
        retryPolicy: () => retryAfter(0),
      });
      const running = start((signal) =>
        worker.run(async (message, tx) => {
          const key = message.idempotencyKey;
          const moment = message.attempt === 0 ? key.split("-")[0] : "none";
          if (moment === "begin") await inbox.query(killIdle);
          await tx.query(EFFECT, [key]);
          const { rows } = await tx.query("SELECT pg_backend_pid() AS pid");
          const pid = rows[0]?.["pid"];
          switch (moment) {
            case "write":
              await kill(pid);
              await tx.query("SELECT 1");
              break;
            case "swallowed":
              await kill(pid);
              await tx.query("SELECT 1").catch(() => undefined);
              break;
            case "return":
              await kill(pid);
              break;
            case "random":
              setTimeout(() => void kill(pid), 4 * Math.random());
              break;
          }
        }, signal),
      );
      await until(async () => (await inbox.count("processed")) === keys.length, {
        deadline: 45_000,
      });
      await running.stop();
      await Promise.all(kills);
      expect((await inbox.effects()).sort()).toEqual([...keys].sort());
      expect(logger.of("internal_error")).toEqual([]);
      expect(logger.of("settlement_failed")).toEqual([]);
      // The pool lost what died and nothing else.
      const connections = await Promise.all(
        Array.from({ length: max }, () => inbox.source.connect()),
      );
      for (const connection of connections) {
        expect((await connection.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
        await connection.release();
      }
    });
  });
});
