/** What a leased row goes through while it is ours: extended, given back, locked, acknowledged, asked for. */
import type { LeaseSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { given, heldRows, ours, uncounted, unleased, update } from "./table-held.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { all, type TableSql } from "./table-names.ts";
import { ack, failUnlessAll } from "./table-settle.ts";

/** Waits for no lock: a row that its own settlement has locked is `locked`, and neither lost nor extended. */
export function extend(sql: TableSql, settings: LeaseSettings): Statement {
  const held = heldRows(sql, { isLive: true, skipsLocked: true });
  return sql.statement(`${held}, seen AS (
  SELECT i.${sql.id} AS id
  FROM given JOIN ${sql.name} AS i ON ${ours(sql, true)}
), extended AS (
  UPDATE ${sql.name} AS i
  SET ${sql.column("lockedUntil")} = ${leaseEnd(sql, settings, sql.clock)}
  FROM locked
  WHERE i.${sql.id} = locked.id
  RETURNING i.${sql.id} AS id, ${sql.token()} AS token
)
SELECT
  given.id::text AS id,
  CASE
    WHEN extended.id IS NOT NULL THEN 'extended'
    WHEN seen.id IS NOT NULL THEN 'locked'
    ELSE 'lost'
  END AS outcome,
  extended.token
FROM given
LEFT JOIN extended ON extended.id = given.id
LEFT JOIN seen ON seen.id = given.id`);
}

/** A locked row is skipped: its own transaction decides what becomes of it. */
export function release(sql: TableSql): Statement {
  const held = heldRows(sql, { skipsLocked: true });
  return sql.statement(`${held}
${update(sql, [...unleased(sql), ...uncounted(sql)])}`);
}

export function ackOrFail(sql: TableSql): Statement {
  const [held, change] = ack(sql);
  return sql.statement(`${held}, done AS (
${change}
)
${failUnlessAll("rows acknowledged", "done")}`);
}

export function lockOrFail(sql: TableSql): Statement {
  return sql.statement(`${heldRows(sql, { isLive: true })}
${failUnlessAll("rows locked", "locked")}`);
}

/**
 * Where rows stand whose commit was not answered: `ours`: in work under our claim, so nothing was
 * committed; `locked`: a transaction that has not ended holds the row; `taken`: in work under another
 * claim; `settled`: processed under our attempt, so by us; `gone`: there is no such row; `other`.
 */
export function readBack(sql: TableSql): Statement {
  const lease = sql.of("lockedUntil");
  const done = sql.of("processedAt");
  const attempt = sql.of("attempt");
  const settled =
    done === undefined || attempt === undefined
      ? "false"
      : `${done} IS NOT NULL AND ${attempt} = given.attempt`;
  // FOR SHARE conflicts with the lock of a settlement, and lives as long as this statement.
  return sql.statement(`WITH ${given(sql)}, seen AS (
  SELECT i.${sql.id} AS id FROM given JOIN ${sql.name} AS i ON i.${sql.id} = given.id
), unlocked AS (
  SELECT i.${sql.id} AS id,
    coalesce(${ours(sql)}, false) AS ours,
    coalesce(${all(sql.open(), `${lease} IS NOT NULL`)}, false) AS taken,
    coalesce(${settled}, false) AS settled
  FROM given JOIN ${sql.name} AS i ON i.${sql.id} = given.id
  ORDER BY i.${sql.id}
  FOR SHARE OF i SKIP LOCKED
)
SELECT given.id::text AS id,
  CASE
    WHEN seen.id IS NULL THEN 'gone'
    WHEN unlocked.id IS NULL THEN 'locked'
    WHEN unlocked.ours THEN 'ours'
    WHEN unlocked.taken THEN 'taken'
    WHEN unlocked.settled THEN 'settled'
    ELSE 'other'
  END AS outcome
FROM given
LEFT JOIN seen ON seen.id = given.id
LEFT JOIN unlocked ON unlocked.id = given.id`);
}

/** Rows whose group has another row in work. Runs after the claim's commit, in a snapshot of its own. */
export function lookAgain(sql: TableSql): Statement {
  return sql.statement(`WITH ${given(sql)}
SELECT i.${sql.id}::text AS id
FROM given JOIN ${sql.name} AS i ON ${ours(sql)}
WHERE EXISTS (
  SELECT 1
  FROM ${sql.name} AS o
  WHERE ${all(
    `${sql.of("group", "o")} = ${sql.of("group")}`,
    `${sql.of("lockedUntil", "o")} > ${sql.now}`,
    sql.open("o"),
    `o.${sql.id} <> i.${sql.id}`,
    `(o.${sql.id} < i.${sql.id} OR o.${sql.id} NOT IN (SELECT given.id FROM given))`,
  )}
)`);
}
