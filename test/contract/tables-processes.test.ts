import { afterEach, expect, test } from "vitest";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";
import { endAll, runBroker } from "./processes/programs.ts";
import { isReached } from "./processes/protocol.ts";

afterEach(endAll);

/** What is held of the tables' keys; a file's locks are of the system, and end with their process. */
const LOCKS: Readonly<Record<string, string>> = {
  mysql: `SELECT 1 FROM (SELECT 'job-1' AS name UNION SELECT 'job-2') AS names
    WHERE IS_FREE_LOCK(CONCAT(DATABASE(), '.', name)) = 0`,
};

/** The process's own, where sessions have names. */
const SESSIONS: Readonly<Record<string, string>> = {
  postgres: `SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'worker'`,
  sqlserver: `SELECT 1 FROM sys.dm_exec_sessions
    WHERE database_id = DB_ID() AND program_name = N'worker'`,
};

forEachTarget({ connections: "one writer" }, ({ dialect, name }, open) => {
  test("74: a process whose broker has stopped ends by itself, and leaves no lock and no session", async () => {
    const { query, url } = await open();
    if (url === undefined || !isReached(name)) throw new Error("no other process reaches it");
    await runBroker({ url, kind: name, connections: 8 });
    const locks = wordsOf(dialect.name).locks ?? LOCKS[dialect.name];
    if (locks !== undefined) expect((await query(locks)).rows).toEqual([]);
    if (dialect.features.forms.includes("rowLock")) {
      expect((await query("SELECT 1 FROM lock_jobs WHERE attempt <> 1")).rows).toEqual([]);
    }
    const rows = await query<{ payload: string; attempt: number; held: number }>(
      `SELECT payload, attempt, CASE WHEN lease IS NULL THEN 0 ELSE 1 END AS held FROM lease_jobs
      UNION ALL SELECT payload, attempt, 0 FROM advisory_jobs`,
    );
    const back = { payload: '"lingers"', attempt: 1, held: 0 };
    expect(rows.rows).toEqual([back, back]);
    const sessions = SESSIONS[dialect.name];
    if (sessions === undefined) return;
    await until(async () => (await query(sessions)).rows.length === 0);
  });
});
