import pg from "pg";
import postgres from "postgres";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { fromPg } from "../../src/driver/pg.ts";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import { TableError } from "../../src/errors.ts";
import {
  AdvisoryJobs,
  EFFECT,
  LeaseJobs,
  LockJobs,
  rejection,
  testBroker,
} from "../support/broker-table.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { HandmadeSource } from "../support/handmade.ts";
import { TransactionPooler } from "../support/pooler.ts";
import { until } from "../support/until.ts";

const SOURCES: Record<string, (url: string) => ConnectionSource> = {
  pg(url) {
    const pool = new pg.Pool({ connectionString: url, max: 5 });
    onTestFinished(() => pool.end());
    return fromPg(pool);
  },
  postgres(url) {
    const sql = postgres(url, { max: 5, prepare: false, fetch_types: false });
    onTestFinished(() => sql.end({ timeout: 5 }));
    return fromPostgresJs(sql);
  },
  handmade(url) {
    const source = new HandmadeSource(url);
    onTestFinished(() => source.close());
    return Object.assign(source, { database: "postgres" });
  },
};

describeOn("postgres", "42: behind a pooler in transaction mode", () => {
  async function openPooler(size?: number) {
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    for (const table of [AdvisoryJobs, LeaseJobs, LockJobs]) {
      for (const statement of table.ddl("postgres")) await database.query(statement);
    }
    await database.query("CREATE TABLE effects (n bigserial, what text)");
    const pooler = await TransactionPooler.open(database.url, size);
    onTestFinished(() => pooler.close());
    return { database, pooler };
  }

  describe.each(Object.entries(SOURCES))("%s", (_name, connect) => {
    test("the advisory lock form refuses to start, and leaves no lock", async () => {
      const { database, pooler } = await openPooler();
      const { broker } = testBroker(connect(pooler.url));
      broker.subscribe(AdvisoryJobs.queue("a"), () => undefined);
      broker.subscribe(AdvisoryJobs.queue("b"), () => undefined);
      const error = await rejection(broker.start());
      expect(error).toBeInstanceOf(TableError);
      expect(String(error)).toContain(
        "advisory_jobs is held by advisory locks, which belong to a session, and a pooler between",
      );
      const { rows } = await database.query(
        "SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database()",
      );
      expect(rows).toEqual([]);
    });

    test("the other forms work, and their handlers' transactions", async () => {
      const { database, pooler } = await openPooler(4);
      const source = connect(pooler.url);
      const { broker } = testBroker(source);
      for (const Jobs of [LeaseJobs, LockJobs]) {
        broker.subscribe(Jobs.queue("a"), { transactional: true }, async (message, { tx }) => {
          await tx.query(EFFECT, [`${Jobs.description.form} ${message}`]);
        });
        await Jobs.queue("a").insert(source, [1, 2, 3]);
      }
      await broker.start();
      await until(() => broker.stats().every(({ settled }) => settled.ack === 3));
      await broker.stop();
      const { rows } = await database.query("SELECT DISTINCT what FROM effects");
      expect(rows).toHaveLength(6);
    });

    test("sessions of one's own start, side by side", async () => {
      const { database } = await openPooler();
      const { broker } = testBroker(connect(database.url));
      broker.subscribe(AdvisoryJobs.queue("a"), () => undefined);
      broker.subscribe(AdvisoryJobs.queue("b"), () => undefined);
      await broker.start();
      expect(broker.health().ok).toBe(true);
    });
  });
});
