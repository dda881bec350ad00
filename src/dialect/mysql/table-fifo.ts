/**
 * Leases of fifo groups: only the head is claimed, and only while no other row of its group has a lease that
 * holds. Two claims at once can each find that true, for different rows where an earlier one has just come in;
 * so after its commit each looks again, and what it finds then it gives back.
 *
 * Rows of the group whose leases have run out are taken out of their holders' hands by the same transaction; one
 * that its handler's transaction has locked keeps its group.
 */
import { bind } from "../bind.ts";
import type { ClaimSettings } from "../dialect.ts";
import type { ProgramRun, Statement, Values } from "../statement.ts";
import { claimedColumns, inOrder, stamped, stillOfGroup, type Taking } from "./table-claim.ts";
import { assigned, given, isGiven, unleased } from "./table-given.ts";
import { readyHeads } from "./table-heads.ts";
import { all, type TableSql } from "./table-names.ts";
import { placeText } from "./table-order.ts";
import { type Build, programOf } from "./table-program.ts";

type Row = Readonly<Record<string, unknown>>;

export function fifoClaim(
  build: Build,
  settings: ClaimSettings,
  taking: (sql: TableSql) => Taking,
  stamp: Statement,
): Statement {
  const heads = lockHeads(build(), settings, taking);
  const over = takingOver(build, stamp);
  return programOf([heads, ...over.parts], function* (values) {
    const { rows } = yield bind(heads, values);
    return yield* over.run(values, rows);
  });
}

/** Leases rows that are locked, of groups that nobody works: `stale` rows of each had a lease. */
export function takingOver(
  build: Build,
  stamp: Statement,
): { readonly parts: readonly Statement[]; run(values: Values, rows: readonly Row[]): ProgramRun } {
  const seen = staleLeases(build());
  const locked = lockStale(build());
  const cleared = clearing(build());
  return {
    parts: [seen, locked, cleared, stamp],
    *run(values, rows) {
      const suspects = rows.filter((row) => Number(row["stale"]) > 0);
      let claimed = rows;
      if (suspects.length > 0) {
        const those = givenOf(values, suspects);
        const others = (yield bind(seen, those)).rows;
        const free = others.length === 0 ? [] : (yield bind(locked, givenOf(values, others))).rows;
        const kept = new Set(free.map(({ id }) => id));
        // A group of which somebody else has a row locked stays with that row.
        const busy = new Set(others.filter(({ id }) => !kept.has(id)).map(({ head }) => head));
        claimed = rows.filter(({ id }) => !busy.has(id));
        const stale = others.filter(({ head }) => !busy.has(head));
        if (stale.length > 0) yield bind(cleared, givenOf(values, stale));
      }
      if (claimed.length > 0) yield bind(stamp, stamped(values, claimed));
      return claimed;
    },
  };
}

function givenOf(values: Values, rows: readonly Row[]): Values {
  return { ...values, ids: rows.map(({ id }) => id) };
}

function lockHeads(
  sql: TableSql,
  settings: ClaimSettings,
  taking: (sql: TableSql) => Taking,
): Statement {
  const inPlace = [`${sql.of("group")} = ready.value`, `${placeText(sql)} = ready.place`];
  return inOrder(
    sql.statement(`SELECT ${claimedColumns(sql, settings, taking(sql))},
  ready.turn AS turn,
  ${staleOthers(sql, "ready.id")} AS stale
FROM ${readyHeads(sql, settings)} STRAIGHT_JOIN ${sql.byId} ON i.${sql.id} = ready.id
WHERE ${all(stillOfGroup(sql, settings), inPlace, sql.claimable())}
  AND ${noneLeased(sql, "ready.id")}
LIMIT ${sql.param("limit")}
FOR UPDATE SKIP LOCKED`),
  );
}

/** How many other rows of the group have, or had, a lease. */
export function staleOthers(sql: TableSql, id: string): string {
  return `(SELECT COUNT(*) ${others(sql, id)})`;
}

/** No other row of the group has a lease that holds. */
export function noneLeased(sql: TableSql, id: string): string {
  return `NOT EXISTS (SELECT 1 ${others(sql, id, `${sql.of("lockedUntil", "o")} > ${sql.now}`)})`;
}

function others(sql: TableSql, id: string, ...more: readonly string[]): string {
  return `FROM ${sql.name} AS o WHERE ${all(...isOther(sql), `o.${sql.id} <> ${id}`, more)}`;
}

/** A row of the head's group that has, or had, a lease. */
function isOther(sql: TableSql): string[] {
  return [
    `${sql.of("group", "o")} = ${sql.of("group")}`,
    `${sql.of("lockedUntil", "o")} IS NOT NULL`,
    ...sql.open("o"),
  ];
}

/** Of the given heads, the rows of their groups that have, or had, a lease: `id`, and `head`. */
function staleLeases(sql: TableSql): Statement {
  return sql.statement(`SELECT CAST(o.${sql.id} AS CHAR) AS id, CAST(i.${sql.id} AS CHAR) AS head
FROM ${given(sql)}
STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
STRAIGHT_JOIN ${sql.name} AS o ON ${all(...isOther(sql))}
WHERE o.${sql.id} <> i.${sql.id}`);
}

/** Those of the given rows whose leases have run out, locked. */
function lockStale(sql: TableSql): Statement {
  const lease = sql.of("lockedUntil");
  return sql.statement(`SELECT CAST(i.${sql.id} AS CHAR) AS id
FROM ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
WHERE ${lease} <= ${sql.now}
FOR UPDATE SKIP LOCKED`);
}

function clearing(sql: TableSql): Statement {
  return sql.statement(`UPDATE ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
SET ${assigned(unleased(sql))}`);
}
