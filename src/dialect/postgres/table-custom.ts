/**
 * What the library does around a service's own events: it takes the rows that a claim named, as far as
 * they can be claimed still; it reads the keys of rows that a lock is to be tried for; it looks at leases
 * before and after an event extended them. In which order rows go out, the event itself has decided.
 *
 * Of a fifo group one row is in work all the same, whichever rows a claim names: the first named one, and
 * only where the group is free, by what the form's own claim goes by. A row lock claim locks the group for
 * its transaction; a lease claim passes a group that has a live lease, ends those that have run out, and looks again
 * after its commit.
 */
import type { ClaimSettings, LeaseSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import {
  answered,
  claimableRows,
  claimedColumns,
  lockKey,
  stillOfGroup,
  withParts,
} from "./table-claim.ts";
import { type Change, counted, given as givenRows, ours } from "./table-held.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { leased, leasedHeads, lockedHeads } from "./table-lease-fifo.ts";
import { all, type TableSql } from "./table-names.ts";
import { types } from "./types.ts";

/** group (if one), ids. Those of the rows that can be claimed still. */
export function takeRows(sql: TableSql, settings: ClaimSettings): Statement {
  const isFree = () => `pg_try_advisory_xact_lock(${sql.hash("head.group_key", 1)})`;
  return take(sql, settings, { changes: [], conditions: claimableOf(sql, settings), isFree });
}

/** group (if one), ids, leaseMs. The same, and leased. */
export function takeLeases(sql: TableSql, settings: LeaseSettings): Statement {
  return take(sql, settings, {
    changes: [leased(sql, settings), ...counted(sql)],
    conditions: claimableOf(sql, settings),
  });
}

/** The same of a fifo table: a group is taken over as by the form's own claim. */
export function takeFifoLeases(sql: TableSql, settings: LeaseSettings): Statement {
  const heads = `(${firstOfGroups(sql, claimableOf(sql, settings))})`;
  const still = stillOfGroup(sql, settings);
  return sql.statement(`WITH ${givenIds(sql)}, locked AS (
  ${lockedHeads(sql, { heads, more: ", head.turn", still })}
), ${leasedHeads(sql, settings, "turn")}
${answered(sql, settings, "", "claimed.turn")}`);
}

/** group (if one), ids, key. Rows whose key is locked: whoever held it before may have settled them. */
export function takeLocked(sql: TableSql, settings: ClaimSettings): Statement {
  const isKeys = `${lockKey(sql.table)} = ${sql.param("key")}::text`;
  const conditions = [...claimableOf(sql, settings), isKeys];
  return take(sql, settings, { changes: counted(sql), conditions });
}

function claimableOf(sql: TableSql, settings: ClaimSettings): string[] {
  return [...stillOfGroup(sql, settings), ...sql.claimable()];
}

interface Taking {
  readonly changes: readonly Change[];
  readonly conditions: readonly string[];
  /** Of a fifo table: whether nobody works the group of the row called `head`. */
  isFree?(): string;
}

/** The given ids, each with its place. */
function givenIds(sql: TableSql): string {
  return `given AS (
  SELECT g.* FROM unnest(${sql.param("ids")}::text::${sql.idType}[]) WITH ORDINALITY AS g (id, turn)
)`;
}

function joined(sql: TableSql, from: string, conditions: readonly string[]): string {
  return `FROM (SELECT * FROM ${from} LIMIT (SELECT NULL::bigint)) AS ${from} JOIN ${sql.name} AS i ON i.${sql.id} = ${from}.id
  WHERE ${all(conditions)}`;
}

/** Of each group the first given row that can be claimed. */
function firstOfGroups(sql: TableSql, conditions: readonly string[]): string {
  const group = sql.of("group");
  return `SELECT DISTINCT ON (${group}) given.id, given.turn, ${group}::text AS group_key, true AS ready
    ${joined(sql, "given", conditions)}
    ORDER BY ${group}, given.turn
    OFFSET 0`;
}

/** In the order of the ids. */
function take(
  sql: TableSql,
  settings: ClaimSettings,
  { changes, conditions, isFree }: Taking,
): Statement {
  const picked = changes.length === 0 ? `${claimedColumns(sql, settings)},` : `i.${sql.id} AS id,`;
  const isFifo = sql.table.fifo !== "none" && isFree !== undefined;
  const heads = isFifo
    ? [
        `heads AS (
  SELECT head.id, head.turn
  FROM (
    ${firstOfGroups(sql, conditions)}
  ) AS head
  WHERE ${isFree()}
)`,
      ]
    : [];
  const from = isFifo ? "heads" : "given";
  const locked = `locked AS (
  SELECT ${picked} ${from}.turn
  ${joined(sql, from, conditions)}
  ORDER BY ${from}.turn
  FOR UPDATE OF i SKIP LOCKED
)`;
  const claimed =
    changes.length === 0
      ? "claimed AS (SELECT * FROM locked)"
      : `claimed AS (
  UPDATE ${sql.name} AS i
  SET ${changes.map(({ column, value }) => `${column} = ${value}`).join(", ")}
  FROM locked
  WHERE i.${sql.id} = locked.id
  RETURNING locked.turn, ${claimedColumns(sql, settings)}
)`;
  return sql.statement(`WITH ${[givenIds(sql), ...heads, locked, claimed].join(", ")}
${answered(sql, settings, "", "claimed.turn")}`);
}

/**
 * group (if one), limit, keys. The first row of each key, in order, but for the keys that are named.
 * Answers `id` and `key`.
 */
export function candidates(sql: TableSql, settings: ClaimSettings): Statement {
  const key = lockKey(sql.table);
  const rows = claimableRows(sql, settings, {
    extra: [`${key} AS lock_key`],
    filter: [`chunk.lock_key <> ALL (${sql.param("keys")}::text::text[])`],
  });
  return sql.statement(`${withParts([
    ...rows.with,
    `ahead AS (
  SELECT * FROM (
    ${rows.rows}
  ) AS every_row
  LIMIT ${2 * settings.mostRows + 10}
)`,
    `ranked AS (
  SELECT ahead.*, row_number() OVER (PARTITION BY ahead.lock_key ORDER BY ${sql.place("ahead")}) AS rank
  FROM ahead
)`,
  ])}
SELECT ranked.id::text AS id, ranked.lock_key AS key
FROM ranked
WHERE ranked.rank = 1
ORDER BY ${sql.place("ranked")}
LIMIT ${sql.param("limit")}::int`);
}

/**
 * ids, tokens, attempts, leaseMs. Locks the rows that are ours, whose leases have not run out and that nobody
 * has locked; answers for each `id`, `outcome` (ours, locked, lost), and of ours `held` and `until`: the
 * lease's end as it is and as it is to be.
 */
export function extendable(sql: TableSql, settings: LeaseSettings): Statement {
  const read = types.timestamp.read;
  return sql.statement(`WITH ${givenRows(sql)}, seen AS (
  SELECT i.${sql.id} AS id
  FROM given JOIN ${sql.name} AS i ON ${ours(sql, true)}
), mine AS (
  SELECT i.${sql.id} AS id, ${sql.of("lockedUntil")} AS held
  FROM given JOIN ${sql.name} AS i ON ${ours(sql, true)}
  ORDER BY i.${sql.id}
  FOR NO KEY UPDATE OF i SKIP LOCKED
)
SELECT given.id::text AS id,
  CASE
    WHEN mine.id IS NOT NULL THEN 'ours'
    WHEN seen.id IS NOT NULL THEN 'locked'
    ELSE 'lost'
  END AS outcome,
  ${read("mine.held")} AS held,
  ${read(`(${leaseEnd(sql, settings, sql.clock)})`)} AS until
FROM given
LEFT JOIN mine ON mine.id = given.id
LEFT JOIN seen ON seen.id = given.id`);
}

/** ids. Their tokens as they are now. Answers `id` and `token`. */
export function tokens(sql: TableSql): Statement {
  return sql.statement(`SELECT i.${sql.id}::text AS id, ${sql.token()} AS token
FROM ${sql.name} AS i
WHERE i.${sql.id} = ANY (${sql.param("ids")}::text::${sql.idType}[])`);
}
