import { afterEach, describe, expect, test } from "vitest";
import { type OpenedInbox, openInbox } from "../support/inbox.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";
import type { WorkerProcess as Worker } from "./processes/programs.ts";
import { endAll, WorkerProcess } from "./processes/programs.ts";
import type { WorkerSettings } from "./processes/protocol.ts";

const ROUNDS = 8;

describe("processes that die, freeze and stop", () => {
  afterEach(endAll);

  forEachSource({ connections: "many" }, (name, open) => {
    if (name === "pglite") return;
    const startWorker = (
      inbox: OpenedInbox,
      options: Partial<WorkerSettings["options"]>,
      handler: WorkerSettings["handler"],
    ): Promise<Worker> => {
      if (inbox.url === undefined) throw new Error("no other process reaches this database");
      return WorkerProcess.start({
        url: inbox.url,
        kind: name,
        connections: 5,
        options: { source: "orders", pollIntervalMs: 20, ...options },
        handler,
      });
    };

    test("S1: three messages of a worker that was killed come back after the lease, once each, and have spent no attempt", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "m1" }, { key: "m2" }, { key: "m3" });
      const leaseMs = 1200;
      const killed = await startWorker(
        inbox,
        { batchSize: 3, leaseMs },
        { wait: "hold", writes: true },
      );
      await until(() => killed.started.length > 0);
      expect(await inbox.count("processing")).toBe(3);
      await killed.kill();
      const leases = await inbox.query<{ end: string }>(
        "SELECT max(lease_expires_at)::text AS end FROM inbox",
      );
      const next = await startWorker(
        inbox,
        { batchSize: 3, leaseMs },
        { wait: "none", writes: true },
      );
      await until(async () => (await inbox.count("processed")) === 3);
      await next.stop();
      const early = await inbox.query(
        "SELECT 1 FROM inbox WHERE claimed_at < $1::timestamptz - interval '0.5 s' OR attempt > 0",
        [leases.rows[0]?.end],
      );
      expect(early.rows).toEqual([]);
      expect((await inbox.effects()).sort()).toEqual(["m1", "m2", "m3"]);
      expect(next.events.filter((event) => event === "expired_lease_claimed")).toHaveLength(3);
    });

    test("F1: a worker that froze for longer than the lease changes nothing when it goes on, and works on", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "m1" });
      const leaseMs = 900;
      const frozen = await startWorker(inbox, { leaseMs }, { wait: "hold", writes: true });
      await until(() => frozen.started.includes("m1"));
      frozen.child.kill("SIGSTOP");
      const other = await startWorker(inbox, { leaseMs }, { wait: "none", writes: true });
      await until(async () => (await inbox.count("processed")) === 1);
      await other.stop();
      frozen.child.kill("SIGCONT");
      frozen.tell({ go: "m1" });
      await until(() => frozen.events.includes("lease_lost"));
      expect(await inbox.effects()).toEqual(["m1"]);
      await inbox.insert({ key: "m2" });
      await until(() => frozen.started.includes("m2"));
      frozen.tell({ go: "m2" });
      await until(async () => (await inbox.count("processed")) === 2);
      await frozen.stop();
      expect(await inbox.effects()).toEqual(["m1", "m2"]);
      expect(await inbox.row("m1")).toMatchObject({ attempt: 0 });
    });

    test.runIf(name === "pg")(
      "workers stopped at any moment lose nothing, double nothing and spend no attempt",
      { timeout: 90_000 },
      async () => {
        const inbox = await openInbox(open);
        const keys = Array.from({ length: 30 * ROUNDS }, (_, n) => `m${n}`);
        for (let round = 0; round < ROUNDS; round += 1) {
          const ofRound = keys.slice(30 * round, 30 * (round + 1));
          await inbox.insert(
            ...ofRound.map((key, n) => ({ key, aggregateId: n % 2 ? `a${n % 6}` : null })),
          );
          const options = {
            leaseMs: 900,
            maxConcurrency: 4,
            shutdownGraceMs: round % 3 === 0 ? 0 : 10 * round,
            abandon: round % 2 === 0 ? "release" : "expire",
          } as const;
          const wait = { randomMs: 40 };
          const worker = await startWorker(inbox, options, {
            wait,
            writes: true,
            heedsSignal: round % 4 < 2,
          });
          // The first handler's end is where the dice are thrown from.
          await until(() => worker.windows.length > 0);
          await new Promise((resolve) => setTimeout(resolve, 60 * Math.random()));
          await worker.stop();
        }
        const last = await startWorker(
          inbox,
          { leaseMs: 900, maxConcurrency: 4 },
          { wait: "none", writes: true },
        );
        await until(async () => (await inbox.count("processed")) === keys.length, {
          deadline: 20_000,
        });
        await last.stop();
        expect((await inbox.effects()).sort()).toEqual([...keys].sort());
        expect((await inbox.rows()).filter(({ attempt }) => attempt > 0)).toEqual([]);
        const sessions = await inbox.query(
          "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'worker'",
        );
        expect(sessions.rows).toEqual([]);
      },
    );
  });
});
