import { Logger, run, runMigrations } from "graphile-worker";
import type pg from "pg";
import { PgBoss } from "pg-boss";
import { Broker, type BrokerOptions } from "../../../dist/index.mjs";
import { fromPg } from "../../../dist/pg.mjs";
import { type Form, QUEUE, tables } from "./queue-tables.ts";
import type { ProducerTask } from "./steady-producer.ts";

/** Somebody who waits for messages. */
export interface Waiter {
  readonly name: string;
  readonly settings: unknown;
  readonly insert: ProducerTask["insert"];
  /** Empty tables, and then at work: `started` is told each message's number as its handler starts. */
  start(started: (n: number) => void): Promise<() => Promise<void>>;
}

const SLOTS = 4;

export function brokerWaiter(
  name: string,
  pool: pg.Pool,
  form: Form,
  options: BrokerOptions,
): Waiter {
  return {
    name,
    settings: { form, workers: SLOTS, ...options },
    insert: `INSERT INTO jobs (queue, payload) VALUES ('${QUEUE}', jsonb_build_object('n', $1::int))`,
    async start(started) {
      await pool.query("DROP TABLE IF EXISTS jobs");
      const listenNotify = options.listenNotify ?? false;
      for (const statement of tables[form].ddl("postgres", { listenNotify })) {
        await pool.query(statement);
      }
      const broker = new Broker(fromPg(pool), { logger: console, ...options });
      broker.subscribe(tables[form].queue(QUEUE), { workers: SLOTS }, (message) =>
        started(numberOf(message)),
      );
      await broker.start();
      return () => broker.stop();
    },
  };
}

export function graphileWaiter(pool: pg.Pool, url: string): Waiter {
  const settings = { concurrentJobs: SLOTS, maxPoolSize: 10 };
  return {
    name: "graphile-worker",
    settings,
    insert: `SELECT graphile_worker.add_job('${QUEUE}', json_build_object('n', $1::int))`,
    async start(started) {
      const logger = new Logger(() => () => {});
      await runMigrations({ connectionString: url, logger });
      await pool.query("TRUNCATE graphile_worker._private_jobs");
      const runner = await run({
        preset: { worker: { connectionString: url, logger, ...settings } },
        noHandleSignals: true,
        taskList: { [QUEUE]: (payload) => started(numberOf(payload)) },
      });
      return () => runner.stop();
    },
  };
}

export function bossWaiter(pool: pg.Pool, url: string): Waiter {
  const settings = { useListenNotify: true, queue: { notify: true }, localConcurrency: SLOTS };
  return {
    name: "pg-boss",
    settings,
    insert: "pg-boss",
    async start(started) {
      await pool.query("DROP SCHEMA IF EXISTS pgboss CASCADE");
      const boss = new PgBoss({ connectionString: url, schedule: false, useListenNotify: true });
      boss.on("error", (error) => console.error("pg-boss:", error));
      await boss.start();
      await boss.createQueue(QUEUE, settings.queue);
      await boss.work<{ n: number }>(QUEUE, { localConcurrency: SLOTS }, async (jobs) => {
        for (const { data } of jobs) started(data.n);
      });
      return () => boss.stop();
    },
  };
}

function numberOf(message: unknown): number {
  return (message as { readonly n: number }).n;
}
