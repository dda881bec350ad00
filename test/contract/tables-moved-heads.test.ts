/** Heads of fifo groups that are moved between a claim's look at them and its lock on them. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { ClaimedRow, Dialect } from "../../src/dialect/dialect.ts";
import type { Statement } from "../../src/dialect/statement.ts";
import type { TableDescription } from "../../src/table/description.ts";
import { describeTable, type TestColumns } from "../support/described-table.ts";
import { openTable, type TableSession } from "../support/open-table.ts";
import { forEachTarget, type OpenedSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

const COLUMNS = {
  id: ["bigint", "id"],
  grp: ["text", "group"],
  prio: ["integer", "priority"],
  due: ["timestamp", "retryAfter"],
} as const satisfies TestColumns;
const LEASED = { ...COLUMNS, lease: ["timestamp", "lockedUntil"] } as const satisfies TestColumns;

const FORMS = [
  { form: "row lock", table: describeTable({ columns: COLUMNS, fifo: "fifo" }) },
  { form: "lease", table: describeTable({ columns: LEASED, fifo: "fifo" }) },
] as const;
/** What is done to the first row of three, which can be claimed still and is not the first any more. */
const MOVES = [
  { move: "is due later than the others now", change: (past: string) => `due = ${past}` },
  { move: "has a lower priority now", change: () => "prio = 9" },
] as const;
const GROUPS = ["one", "every"] as const;
const CASES = FORMS.flatMap(({ form, table }) =>
  MOVES.flatMap(({ change, move }) =>
    GROUPS.map((groups) => ({
      name: `45, ${form}: a head that ${move} is not taken for the head, in a claim of ${groups} group`,
      change,
      groups,
      table,
    })),
  ),
);
const VALUES = { group: "a", after: null, limit: 5, leaseMs: 30_000 };

function claimOf(dialect: Dialect, table: TableDescription, groups: "one" | "every"): Statement {
  const settings = { columns: [], groups, mostRows: 10 };
  const statement =
    table.form === "rowLock"
      ? dialect.rowLock?.(table, settings).claim
      : dialect.lease?.(table, { ...settings, leaseMs: 30_000, leasePrecision: 6 }).claim;
  if (statement === undefined) throw new Error("there is no such form");
  return statement;
}

async function ids(claimed: Promise<readonly ClaimedRow[]>): Promise<string[]> {
  return (await claimed).map(({ id }) => id);
}

describe("heads that are moved", () => {
  forEachTarget({ connections: "many", dialect: "postgres" }, ({ dialect }, open) => {
    for (const { name, change, groups, table } of CASES)
      test(name, async () => {
        const db = await openTable(open, dialect, table, { max: 5 });
        const [gate, mover, claimer] = [await db.session(), await db.session(), await db.session()];
        await gatedRows(db);
        const claim = claimOf(dialect, table, groups);

        await gate.connection.query("SELECT pg_advisory_lock(77)");
        await mover.begin();
        await mover.connection.query(
          `UPDATE jobs_rows SET ${change("clock_timestamp()")} WHERE id = 1`,
        );
        await claimer.begin("readCommitted");
        await claimer.connection.query("SELECT set_config('test.gated', 'on', true)");
        const late = ids(claimer.run<ClaimedRow>(claim, VALUES));
        await until(async () => {
          const waits = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
          return (await gate.connection.query(waits)).rows.length > 0;
        });
        await mover.commit();
        await gate.connection.query("SELECT pg_advisory_unlock(77)");
        expect(await late).toEqual([]);
        await claimer.commit();
        expect(await ids(claimer.alone(claim, VALUES))).toEqual(["2"]);
      });
  });

  forEachTarget({ connections: "many", dialect: "mysql" }, ({ dialect }, open) => {
    for (const { name, change, groups, table } of CASES)
      test(name, async () => {
        const db = await openTable(open, dialect, table);
        const [mover, claimer] = [await db.session(), await db.session()];
        await db.query("INSERT INTO jobs (grp, prio) VALUES ('a', 5), ('a', 5), ('a', 5)");
        const claim = claimOf(dialect, table, groups);

        await oldSnapshot(claimer);
        await mover.connection.query(`UPDATE jobs SET ${change("UTC_TIMESTAMP(6)")} WHERE id = 1`);
        expect(await ids(claimer.run<ClaimedRow>(claim, VALUES))).toEqual([]);
        await claimer.rollback();
        await claimer.connection.query("DO RELEASE_ALL_LOCKS()");
        expect(await ids(claimer.alone(claim, VALUES))).toEqual(["2"]);
        await claimer.connection.query("DO RELEASE_ALL_LOCKS()");
      });
  });
});

/** Three rows of a group; a session that is `test.gated` reads them when lock 77 is free, in the snapshot that it had before. */
async function gatedRows(db: OpenedSource): Promise<void> {
  for (const statement of [
    `CREATE FUNCTION gate() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF current_setting('test.gated', true) = 'on' THEN
    PERFORM pg_advisory_xact_lock_shared(77);
  END IF;
  RETURN true;
END
$$`,
    "ALTER TABLE jobs RENAME TO jobs_rows",
    "CREATE VIEW jobs AS SELECT * FROM jobs_rows WHERE gate()",
    "INSERT INTO jobs_rows (grp, prio) VALUES ('a', 5), ('a', 5), ('a', 5)",
  ]) {
    await db.query(statement);
  }
}

/** A transaction that sees what is committed now, and locks rows as they will be. */
async function oldSnapshot({ connection }: TableSession): Promise<void> {
  const named = "SHOW SESSION VARIABLES LIKE 'innodb_snapshot_isolation'";
  if ((await connection.query(named)).rows.length > 0) {
    // MariaDB would refuse to lock a row that was changed since.
    const set = (value: string) =>
      connection.query(`SET SESSION innodb_snapshot_isolation = ${value}`);
    await set("OFF");
    onTestFinished(async () => {
      await set("DEFAULT");
    });
  }
  await connection.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  await connection.query("START TRANSACTION WITH CONSISTENT SNAPSHOT");
}
