import { Logger, run, runMigrations } from "graphile-worker";
import type pg from "pg";
import { PgBoss } from "pg-boss";
import { DrainMeter } from "./drain-meter.ts";
import type { Contender } from "./paired-rounds.ts";
import { QUEUE } from "./queue-tables.ts";

export interface PeerSettings {
  readonly name: string;
  readonly url: string;
  /** For what is not measured, and for the meter. */
  readonly pool: pg.Pool;
  readonly rows: number;
}

const silent = new Logger(() => () => {});

type GraphileOptions = NonNullable<GraphileConfig.Preset["worker"]>;

/** graphile-worker with whatever its preset says beside the connection. */
export function graphileContender(
  { name, pool, rows, url }: PeerSettings,
  options: GraphileOptions,
): Contender {
  return {
    name,
    rows,
    async prepare() {
      await runMigrations({ connectionString: url, logger: silent });
      await pool.query("TRUNCATE graphile_worker._private_jobs");
      await pool.query(
        `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
           SELECT (json_populate_record(NULL::graphile_worker.job_spec,
             json_build_object('identifier', $1::text, 'payload', json_build_object('n', n)))
           ) FROM generate_series(1, $2::int) AS n))`,
        [QUEUE, rows],
      );
      await pool.query("VACUUM ANALYZE graphile_worker._private_jobs");
      await pool.query("CHECKPOINT");
    },
    async run() {
      const left = "SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS left";
      const meter = new DrainMeter(pool, left, rows);
      const runner = await run({
        preset: { worker: { connectionString: url, logger: silent, ...options } },
        noHandleSignals: true,
        taskList: { [QUEUE]: () => meter.handle() },
      });
      const ms = await meter.drained();
      await runner.stop();
      return ms;
    },
  };
}

export interface BossOptions {
  readonly max: number;
  readonly queue?: { readonly partition: boolean };
  readonly work: {
    readonly localConcurrency: number;
    readonly batchSize?: number;
    readonly burstWhenBatchFull?: boolean;
    readonly pollingIntervalSeconds?: number;
  };
}

/** pg-boss on a schema that it makes anew for each round. */
export function bossContender(
  { name, pool, rows, url }: PeerSettings,
  { max, queue = { partition: false }, work }: BossOptions,
): Contender {
  const boss = () => {
    const made = new PgBoss({ connectionString: url, max, schedule: false });
    made.on("error", (error) => console.error(`${name}:`, error));
    return made;
  };
  return {
    name,
    rows,
    async prepare() {
      await pool.query("DROP SCHEMA IF EXISTS pgboss CASCADE");
      const filler = boss();
      await filler.start();
      await filler.createQueue(QUEUE, queue);
      for (let at = 0; at < rows; at += 10_000) {
        const jobs = Array.from({ length: Math.min(10_000, rows - at) }, (_, n) => ({
          data: { n: at + n },
        }));
        await filler.insert(QUEUE, jobs);
      }
      await filler.stop();
      await pool.query("VACUUM ANALYZE");
      await pool.query("CHECKPOINT");
    },
    async run() {
      const left = `SELECT EXISTS (SELECT FROM pgboss.job WHERE name = '${QUEUE}' AND state < 'completed') AS left`;
      const meter = new DrainMeter(pool, left, rows);
      const worker = boss();
      await worker.start();
      await worker.work(QUEUE, work, async (jobs) => meter.handle(jobs.length));
      const ms = await meter.drained();
      await worker.stop();
      return ms;
    },
  };
}
