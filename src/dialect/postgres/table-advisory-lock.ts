/**
 * Advisory locks: the session holds the row's key, and no transaction is open while the handler runs.
 *
 * The claim tries keys in the order of their rows, one row a key: a session that holds a key gets it
 * again, and would then take a second row of it. Which keys are held at the start it reads from
 * pg_locks, and passes over their rows, however many stand before the first free one. After the first
 * rows it reads on behind them, past all of their keys, so that many rows of one key that another
 * claim takes first hide nobody either.
 *
 * With the key locked, the row is locked and looked at as it is now: whoever held the key before may
 * have settled it since the snapshot. A key that was locked in vain is unlocked in the same statement. If
 * the statement fails, though, the session keeps what it had locked: then its connection must be closed.
 */
import type { TableDescription } from "../../table/description.ts";
import type { AdvisoryLockStatements, ClaimSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import {
  answered,
  claimableRows,
  claimedColumns,
  limited,
  lockKey,
  stillOfGroup,
  withParts,
} from "./table-claim.ts";
import { candidates, takeLocked } from "./table-custom.ts";
import { type Change, counted, heldRows, uncounted, update } from "./table-held.ts";
import { all, TableSql } from "./table-names.ts";
import { settlements } from "./table-settle.ts";

export function advisoryLockStatements(
  table: TableDescription,
  settings: ClaimSettings,
): AdvisoryLockStatements {
  const build = () => new TableSql(table);
  return {
    claim: claim(build(), settings),
    unlock: { text: "SELECT pg_advisory_unlock($1::text::bigint) AS released", params: ["lock"] },
    release: release(build()),
    ...settlements(build, settings, false),
    ...(table.custom?.lock !== undefined && {
      candidates: candidates(build(), settings),
      take: takeLocked(build(), settings),
    }),
  };
}

function claim(sql: TableSql, settings: ClaimSettings): Statement {
  const lock = sql.hash(lockKey(sql.table), 0);
  const extra = [`${lock} AS lock`];
  const sets = counted(sql);
  // Read under the row's lock: outside of it, columns are those of the statement's snapshot.
  const row = sets.length === 0 ? claimedColumns(sql, settings) : `i.${sql.id} AS id`;
  const isFree = "chunk.lock NOT IN (SELECT held.lock FROM held)";
  const isBehind = "chunk.lock NOT IN (SELECT ahead.lock FROM ahead)";
  const window = claimableRows(sql, settings, { extra, filter: [isFree] });
  const behind = claimableRows(
    sql,
    settings,
    { extra, filter: [isFree, isBehind] },
    "behind_level",
  );
  const parts = [
    `held AS (
  SELECT ((l.classid::bigint << 32) | l.objid::bigint) AS lock
  FROM pg_locks AS l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
)`,
    ...window.with,
    firstOfKeys(sql, "ahead", window.rows, 2 * settings.mostRows + 10),
    ...behind.with,
    firstOfKeys(sql, "further", behind.rows, rowsBehind),
    `locked AS (
  ${limited(
    sql,
    settings,
    `SELECT tried.*
  FROM (
    SELECT row.*, key.lock,
      CASE WHEN key.taken AND row.id IS NULL THEN pg_advisory_unlock(key.lock) END AS unlocked
    FROM (
      SELECT ahead.id, ahead.lock FROM ahead
      UNION ALL
      SELECT further.id, further.lock FROM further
    ) AS candidate
    CROSS JOIN LATERAL (
      SELECT candidate.lock, pg_try_advisory_lock(candidate.lock) AS taken
      OFFSET 0
    ) AS key
    LEFT JOIN LATERAL (
      SELECT ${row}
      FROM ${sql.name} AS i
      WHERE key.taken AND ${all(`i.${sql.id} = candidate.id`, stillOfGroup(sql, settings), sql.claimable(), `${lock} = key.lock`)}
      FOR UPDATE SKIP LOCKED
    ) AS row ON true
    OFFSET 0
  ) AS tried
  WHERE tried.id IS NOT NULL`,
  )}
)`,
    taken(sql, settings, sets),
  ];
  return sql.statement(`${withParts(parts)}
${answered(sql, settings, ", claimed.lock::text AS lock")}`);
}

/** The first row of each key, in order. */
function firstOfKeys(sql: TableSql, name: string, rows: string, most: number): string {
  return `${name} AS (
  SELECT ranked.*
  FROM (
    SELECT each_row.*, row_number() OVER (PARTITION BY each_row.lock ORDER BY ${sql.place("each_row")}) AS rank
    FROM (
      SELECT * FROM (
    ${rows}
      ) AS every_row
      LIMIT ${most}
    ) AS each_row
  ) AS ranked
  WHERE ranked.rank = 1
  ORDER BY ${sql.place("ranked")}
)`;
}

/** How many rows are looked at behind those that a claim tries first. */
const rowsBehind = 200;

function taken(sql: TableSql, settings: ClaimSettings, sets: readonly Change[]): string {
  if (sets.length === 0) return "claimed AS (SELECT * FROM locked)";
  return `claimed AS (
  UPDATE ${sql.name} AS i
  SET ${sets.map(({ column, value }) => `${column} = ${value}`).join(", ")}
  FROM locked
  WHERE i.${sql.id} = locked.id
  RETURNING locked.lock, ${claimedColumns(sql, settings)}
)`;
}

/** For a row whose handler did not start. Without an attempt there is nothing to take off. */
function release(sql: TableSql): Statement {
  const sets = uncounted(sql);
  return sets.length === 0
    ? sql.statement(
        `SELECT g.id::text AS id FROM unnest(${sql.param("ids")}::text::${sql.idType}[]) AS g (id)`,
      )
    : sql.statement(`${heldRows(sql)}\n${update(sql, sets)}`);
}
