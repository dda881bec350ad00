import { afterEach, expect, test } from "vitest";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { endAll, runBroker } from "./processes/programs.ts";

afterEach(endAll);

forEachSource({ connections: "many" }, (name, open) => {
  test.skipIf(name === "pglite")(
    "74: a process whose broker has stopped ends by itself, and leaves no lock and no session",
    async () => {
      const { query, url } = await open();
      if (url === undefined || name === "pglite") throw new Error("no other process reaches it");
      await runBroker({ url, kind: name, connections: 8 });
      const left = await query(
        "SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database() UNION ALL SELECT 1 FROM lock_jobs WHERE attempt <> 1",
      );
      expect(left.rows).toEqual([]);
      const rows = await query(
        "SELECT payload, attempt, lease IS NULL AS free FROM lease_jobs UNION ALL SELECT payload, attempt, true FROM advisory_jobs",
      );
      const back = { payload: '"lingers"', attempt: 1, free: true };
      expect(rows.rows).toEqual([back, back]);
      const sessions =
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'worker'";
      await until(async () => (await query(sessions)).rows.length === 0);
    },
  );
});
