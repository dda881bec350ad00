import { expect, test } from "vitest";
import type { ClaimedRow, Dialect } from "../../src/dialect/dialect.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import type { Connection } from "../../src/driver/connection.ts";
import type { TableDescription } from "../../src/table/description.ts";
import { describeTable, type TestColumns } from "../support/described-table.ts";
import { openTable, TableSession } from "../support/open-table.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const BARE = {
  id: ["bigint", "id"],
  prio: ["integer", "priority"],
  pay: ["text", "payload"],
} as const satisfies TestColumns;
const COUNTED = { ...BARE, att: ["integer", "attempt"] } as const satisfies TestColumns;
const LEASE = { lease: ["timestamp", "lockedUntil"] } as const satisfies TestColumns;

const TABLES = {
  "row locks": describeTable({ columns: BARE }),
  "row locks, counted": describeTable({ columns: COUNTED }),
  leases: describeTable({ columns: { ...BARE, ...LEASE } }),
  "leases, counted": describeTable({ columns: { ...COUNTED, ...LEASE } }),
  "advisory locks": describeTable({ columns: BARE, lockKey: ["job-", "id"] }),
  "advisory locks, counted": describeTable({ columns: COUNTED, lockKey: ["job-", "id"] }),
} as const;

/** Whoever reads the table waits for a lock first: behind its statement's snapshot. */
const GATE = `ALTER TABLE jobs RENAME TO stored;
  CREATE FUNCTION gate() RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN true; END $$;
  CREATE VIEW jobs AS SELECT * FROM stored WHERE gate()`;

function claimOf({ advisoryLock, lease, rowLock }: Dialect, table: TableDescription) {
  const { payload } = table.roles;
  const settings = { columns: payload ? [payload] : [], groups: "none", mostRows: 10 } as const;
  const statements = { rowLock, lease, advisoryLock };
  const claim = statements[table.form]?.(table, { ...settings, leaseMs: 30_000 }).claim;
  if (claim === undefined) throw new Error("no claim");
  return claim;
}

forEachSource({ connections: "many" }, (_name, open) => {
  test.for(Object.entries(TABLES))(
    "39: %s: a claim answers the row as it took it, not as its snapshot had it",
    async ([, table]) => {
      const opened = await openTable(open, postgres, table);
      await opened.query(GATE);
      await opened.query("INSERT INTO stored (prio, pay) VALUES (1, 'old')");
      const [gate, worker] = [await opened.session(), await opened.session()];
      await gate.connection.query("SELECT pg_advisory_lock(42)");
      const claiming = worker.alone<ClaimedRow>(claimOf(postgres, table), {
        limit: 10,
        leaseMs: 30_000,
      });
      claiming.catch(() => {});
      const waits =
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
      await until(async () => (await opened.query(waits)).rows.length === 1);
      await opened.query("UPDATE stored SET pay = 'new'");
      await gate.connection.query("SELECT pg_advisory_unlock(42)");
      expect(await claiming).toMatchObject([{ id: "1", c0: "new" }]);
      await worker.connection.query("SELECT pg_advisory_unlock_all()");
    },
  );
});

/** The connection, on which something happens before each statement but those that end a transaction. */
function interrupted(connection: Connection, before: () => Promise<void>): Connection {
  return {
    async query(text, params) {
      await before();
      return await connection.query(text, params);
    },
    begin: () => connection.begin(),
    commit: () => connection.commit(),
    rollback: () => connection.rollback(),
    release: (error) => connection.release(error),
  };
}

// A claim of several statements; SQLite lets nobody write between them, and elsewhere it is one.
forEachTarget({ connections: "many", dialect: "mysql" }, ({ dialect }, open) => {
  test.for(Object.entries(TABLES))(
    "39: %s: a claim answers the row as it took it, whatever happens between its statements",
    async ([, table]) => {
      const opened = await openTable(open, dialect, table);
      await opened.query("INSERT INTO jobs (prio, pay) VALUES (1, 'old')");
      const [other, worker] = [await opened.session(), await opened.session()];
      let changes = 0;
      const session = new TableSession(
        interrupted(worker.connection, async () => {
          const free = await other.connection.query("SELECT id FROM jobs FOR UPDATE SKIP LOCKED");
          if (free.rows.length === 0) return;
          changes += 1;
          await other.connection.query(`UPDATE jobs SET pay = 'change ${changes}'`);
        }),
        dialect,
      );
      const claim = claimOf(dialect, table);
      const claimed = await session.alone<ClaimedRow>(claim, { limit: 10, leaseMs: 30_000 });
      expect(changes).toBeGreaterThan(0);
      expect(claimed).toMatchObject([{ id: "1", c0: `change ${changes}` }]);
      await worker.connection.query("SELECT RELEASE_ALL_LOCKS()");
    },
  );
});
