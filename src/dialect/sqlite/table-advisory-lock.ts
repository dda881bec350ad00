/**
 * Advisory locks: SQLite has none, so the connection's own locks hold the keys. The claim reads the first
 * row of each key that nobody holds, and takes it once its key is locked, all in one transaction: SQLite has
 * one writer at a time, so what it reads does not change before it is taken. Keys that others lock meanwhile
 * are passed over, and the next read goes on behind them.
 */
import type { TableDescription } from "../../table/description.ts";
import type { AdvisoryLockStatements, ClaimSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { claimedColumns, lockKey, ofGroup } from "./table-claim.ts";
import { counted, uncounted, update } from "./table-held.ts";
import { all, cast, TableSql } from "./table-names.ts";
import { dueRows, place } from "./table-order.ts";
import { settlements } from "./table-settle.ts";

export function advisoryLockStatements(
  table: TableDescription,
  settings: ClaimSettings,
): AdvisoryLockStatements {
  const build = () => new TableSql(table);
  return {
    candidates: candidates(build(), settings),
    take: take(build(), settings),
    release: release(build()),
    ...settlements(build, settings),
  };
}

function candidates(sql: TableSql, settings: ClaimSettings): Statement {
  const key = lockKey(sql, "i");
  const isFree = `${key} NOT IN (SELECT held.value FROM json_each(${sql.param("keys")}) AS held)`;
  const rows = dueRows(
    sql,
    {
      conditions: [...ofGroup(sql, settings), ...sql.open(), isFree],
      extra: [`${key} AS lock_key`],
    },
    // Many rows may share a key; one that leaves too few is read behind by the next statement.
    String(2 * settings.mostRows + 10),
  );
  return sql.statement(`SELECT CAST(ranked.id AS TEXT) AS id, ranked.lock_key AS key
FROM (
  SELECT ahead.*, row_number() OVER (PARTITION BY ahead.lock_key ORDER BY ${place(sql, "ahead")}) AS turn
  FROM (
    ${rows}
  ) AS ahead
) AS ranked
WHERE ranked.turn = 1
ORDER BY ${place(sql, "ranked")}
LIMIT ${sql.param("limit")}`);
}

function take(sql: TableSql, settings: ClaimSettings): Statement {
  const { id } = sql.table.roles;
  const given = id === undefined ? "g.value" : cast("g.value", id);
  const still = all(
    ofGroup(sql, settings),
    sql.claimable(),
    `${lockKey(sql, "i")} = CAST(${sql.param("key")} AS TEXT)`,
  );
  // In words that no index answers: else the planner looks the id up through all rows of the group.
  const conditions = `i.${sql.id} IN (SELECT ${given} FROM json_each(${sql.param("ids")}) AS g)
  AND (${still}) IS TRUE`;
  const changes = counted(sql).map(({ column, value }) => `${column} = ${value}`);
  const columns = claimedColumns(sql, settings);
  if (changes.length === 0) {
    return sql.statement(`SELECT ${columns}\nFROM ${sql.name} AS i\nWHERE ${conditions}`);
  }
  return sql.statement(`UPDATE ${sql.name} AS i
SET ${changes.join(",\n    ")}
WHERE ${conditions}
RETURNING ${columns}`);
}

/** For a row whose handler did not start. Without an attempt there is nothing to take off. */
function release(sql: TableSql): Statement {
  const changes = uncounted(sql);
  if (changes.length > 0) return sql.statement(update(sql, changes));
  return sql.statement(
    `SELECT CAST(g.value AS TEXT) AS id FROM json_each(${sql.param("ids")}) AS g`,
  );
}
