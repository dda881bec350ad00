/**
 * Row locks: the claim's transaction stays open for the handler, so the lock is the row's own.
 *
 * A fifo group has one row in work, across all brokers, and the row's lock cannot promise that: a row
 * with an earlier place may become visible while its group's row is in work. So a claim first tries
 * an advisory lock on the group, which lives as long as the transaction, and then locks the group's
 * first row, which is looked at again under its lock. A claim that got the group's lock and not the row
 * keeps the group from others until its transaction ends: it happens where a snapshot was older than
 * the last holder's commit.
 */
import type { TableDescription } from "../../table/description.ts";
import type { ClaimSettings, RowLockStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import {
  answered,
  claimableRows,
  claimedColumns,
  limited,
  stillOfGroup,
  withParts,
} from "./table-claim.ts";
import { takeRows } from "./table-custom.ts";
import { groupHeads, inPlace } from "./table-fifo.ts";
import { all, TableSql } from "./table-names.ts";
import { settlements } from "./table-settle.ts";
import { walkStatements } from "./table-walk.ts";

export function rowLockStatements(
  table: TableDescription,
  settings: ClaimSettings,
): RowLockStatements {
  const build = () => new TableSql(table);
  return {
    claim: table.fifo === "none" ? claim(build(), settings) : fifoClaim(build(), settings),
    ...walkStatements(build(), settings),
    ...settlements(build, settings, true),
    take: takeRows(build(), settings),
  };
}

function claim(sql: TableSql, settings: ClaimSettings): Statement {
  const rows = claimableRows(sql, settings);
  const still = [...stillOfGroup(sql, settings), ...sql.claimable()];
  return sql.statement(`${withParts([...rows.with, locked(sql, settings, rows.rows, still)])}
${answered(sql, settings)}`);
}

function fifoClaim(sql: TableSql, settings: ClaimSettings): Statement {
  const { heads, parts } = groupHeads(sql, settings);
  const free = `SELECT head.*
    FROM (${heads}) AS head
    WHERE CASE WHEN head.ready THEN pg_try_advisory_xact_lock(${sql.hash("head.group_key", 1)}) ELSE false END
    OFFSET 0`;
  const still = [...inPlace(sql, "candidate"), ...sql.claimable()];
  return sql.statement(`${withParts([...parts, locked(sql, settings, free, still)])}
${answered(sql, settings)}`);
}

/** The rows locked one by one, and no more of them than are wanted; `still`: what is asked of each under its lock. */
function locked(
  sql: TableSql,
  settings: ClaimSettings,
  rows: string,
  still: readonly string[],
): string {
  return `claimed AS (
  ${limited(
    sql,
    settings,
    `SELECT row.*
  FROM (
    ${rows}
  ) AS candidate
  CROSS JOIN LATERAL (
    SELECT ${claimedColumns(sql, settings)}
    FROM ${sql.name} AS i
    WHERE ${all(`i.${sql.id} = candidate.id`, still)}
    FOR UPDATE SKIP LOCKED
  ) AS row`,
  )}
)`;
}
