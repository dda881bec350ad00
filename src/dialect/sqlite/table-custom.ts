/**
 * What the library does around a service's own events: it leases the rows that a claim named, as far as they can be
 * claimed still, and looks at leases before and after an event extended them. In which order rows go out, the event
 * itself has decided. SQLite has one writer at a time: nothing changes between the statements of one transaction.
 *
 * Of a fifo group one row is in work all the same, whichever rows a claim names: the first named one, and only where
 * no other row of its group has a lease that holds. Leases of the group that have run out are cleared first, as the
 * form's own claim does, so that nobody settles a row whose group has been taken over.
 */
import { bind } from "../bind.ts";
import type { LeaseSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { claimedColumns, ofGroup } from "./table-claim.ts";
import { assigned, type Change, given, ours, unleased } from "./table-held.ts";
import { all, cast, type TableSql } from "./table-names.ts";
import { types } from "./types.ts";

/** group (if one), ids, leaseMs. Those of the rows that can be claimed still, in the order of the ids. */
export function takeLeases(
  build: () => TableSql,
  settings: LeaseSettings,
  leased: (sql: TableSql) => readonly Change[],
): Statement {
  const isFifo = build().table.fifo !== "none";
  const named = readNamed(build(), settings);
  const stale = clearStale(build());
  const lease = leaseRows(build(), settings, leased);
  const parts = [named, ...(isFifo ? [stale] : []), lease];
  return {
    text: named.text,
    params: [...new Set(parts.flatMap(({ params }) => params))],
    program: {
      parts,
      *run(values) {
        const { rows } = yield bind(named, values);
        const wanted = isFifo ? firstOfGroups(rows) : rows.map(({ id }) => id);
        if (wanted.length === 0) return [];
        const those = { ...values, ids: JSON.stringify(wanted) };
        if (isFifo) yield bind(stale, those);
        const places = new Map(wanted.map((id, place) => [id, place]));
        const placeOf = (row: Readonly<Record<string, unknown>>) => places.get(row["id"]) ?? 0;
        // RETURNING answers in no order.
        return (yield bind(lease, those)).rows.toSorted((a, b) => placeOf(a) - placeOf(b));
      },
    },
  };
}

function firstOfGroups(rows: readonly Readonly<Record<string, unknown>>[]): unknown[] {
  const heads = new Map<unknown, unknown>();
  for (const { id, shared } of rows) if (!heads.has(shared)) heads.set(shared, id);
  return [...heads.values()];
}

/** The rows that can be claimed, in the order of the ids: `id`, and `shared` of a fifo group. */
function readNamed(sql: TableSql, settings: LeaseSettings): Statement {
  const isFifo = sql.table.fifo !== "none";
  const still = all(
    ofGroup(sql, settings),
    sql.claimable(),
    isFifo ? `NOT EXISTS (${others(sql, ">")})` : [],
  );
  // In words that no index answers: else the planner looks the id up through all rows of the group.
  return sql.statement(`SELECT CAST(i.${sql.id} AS TEXT) AS id, ${isFifo ? sql.of("group") : "NULL"} AS shared
FROM json_each(${sql.param("ids")}) AS g CROSS JOIN ${sql.name} AS i ON i.${sql.id} = ${givenId(sql)}
WHERE (${still}) IS TRUE
ORDER BY g.key`);
}

function leaseRows(
  sql: TableSql,
  settings: LeaseSettings,
  leased: (sql: TableSql) => readonly Change[],
): Statement {
  return sql.statement(`UPDATE ${sql.name} AS i
SET ${assigned(leased(sql))}
WHERE i.${sql.id} IN (SELECT ${givenId(sql)} FROM json_each(${sql.param("ids")}) AS g)
RETURNING ${claimedColumns(sql, settings)}`);
}

function clearStale(sql: TableSql): Statement {
  return sql.statement(`UPDATE ${sql.name} AS s
SET ${assigned(unleased(sql))}
WHERE s.${sql.id} IN (
  SELECT o.${sql.id}
  FROM json_each(${sql.param("ids")}) AS g
  CROSS JOIN ${sql.name} AS i ON i.${sql.id} = ${givenId(sql)}
  CROSS JOIN ${sql.name} AS o ON ${isOther(sql, "<=")}
)`);
}

/** Other rows of the group, whose leases hold, or have run out. */
function others(sql: TableSql, sign: ">" | "<="): string {
  return `SELECT 1 FROM ${sql.name} AS o WHERE ${isOther(sql, sign)}`;
}

function isOther(sql: TableSql, sign: ">" | "<="): string {
  return all(
    `${sql.of("group", "o")} = ${sql.of("group")}`,
    `${sql.of("lockedUntil", "o")} ${sign} ${sql.now}`,
    sql.open("o"),
    `o.${sql.id} <> i.${sql.id}`,
  );
}

function givenId(sql: TableSql): string {
  const { id } = sql.table.roles;
  return id === undefined ? "g.value" : cast("g.value", id);
}

/**
 * ids, tokens, attempts, leaseMs. Answers of the rows that are ours, whose leases have not run out, `id`, `outcome`,
 * and `held` and `until`: the lease's end as it is and as it is to be. Nobody else is writing: none is locked.
 */
export function extendable(sql: TableSql, leaseEnd: (sql: TableSql) => string): Statement {
  const { read } = types.timestamp;
  return sql.statement(`WITH ${given(sql)}
SELECT CAST(given.id AS TEXT) AS id,
  'ours' AS outcome,
  ${read(sql.of("lockedUntil") ?? "NULL")} AS held,
  ${read(leaseEnd(sql))} AS until
FROM given JOIN ${sql.name} AS i ON ${ours(sql, true)}`);
}

/** ids. Their tokens as they are now. Answers `id` and `token`. */
export function tokens(sql: TableSql): Statement {
  return sql.statement(`SELECT CAST(i.${sql.id} AS TEXT) AS id, ${sql.of("lockedUntil")} AS token
FROM ${sql.name} AS i
WHERE i.${sql.id} IN (SELECT ${givenId(sql)} FROM json_each(${sql.param("ids")}) AS g)`);
}
