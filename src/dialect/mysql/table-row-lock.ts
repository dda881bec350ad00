/**
 * Row locks: the claim's transaction stays open for the handler, so the lock is the row's own.
 *
 * A fifo group has one row in work, across all brokers, and the row's lock cannot promise that: a row with an
 * earlier place may become visible while its group's row is in work. So a claim first takes a named lock on
 * the group, if it is free, and then locks the group's first row, which is looked at again under its lock.
 * Such a lock is the session's: it is released behind the COMMIT or the ROLLBACK, and ends with the session.
 */
import type { TableDescription } from "../../table/description.ts";
import { bind } from "../bind.ts";
import type { ClaimSettings, RowLockStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { lockName } from "./lock-name.ts";
import { literal } from "./sql.ts";
import {
  claimedColumns,
  inOrder,
  reading,
  readRows,
  stillOfGroup,
  type Taking,
} from "./table-claim.ts";
import { readyHeads } from "./table-heads.ts";
import { all, TableSql } from "./table-names.ts";
import { type Build, programOf } from "./table-program.ts";
import { settlements } from "./table-settle.ts";

const NOTHING_WRITTEN: Taking = { counts: false };

export function rowLockStatements(
  table: TableDescription,
  settings: ClaimSettings,
): RowLockStatements {
  const build = () => new TableSql(table);
  const settled = settlements(build, settings, true);
  if (table.fifo === "none") return { claim: claim(build, settings), ...settled };
  return {
    claim: fifoClaim(build, settings),
    unlock: { text: "DO RELEASE_ALL_LOCKS()", params: [] },
    ...settled,
  };
}

function claim(build: Build, settings: ClaimSettings): Statement {
  const rows = reading(build, settings, () => NOTHING_WRITTEN);
  return programOf([rows.near, rows.far], (values) => readRows(rows, values));
}

/** Tries the groups in the order of their heads, until it has enough of them. */
function fifoClaim(build: Build, settings: ClaimSettings): Statement {
  const heads = freeHeads(build(), settings);
  const lock: Statement = { text: "SELECT GET_LOCK(?, 0) AS taken", params: ["lock"] };
  const row = lockHead(build(), settings);
  return programOf([heads, lock, row], function* (values) {
    const limit = Number(values["limit"]);
    const claimed: Readonly<Record<string, unknown>>[] = [];
    for (const head of (yield bind(heads, values)).rows) {
      if (claimed.length >= limit) break;
      const { rows: answers } = yield bind(lock, { lock: head["lock"] });
      if (Number(answers[0]?.["taken"]) !== 1) continue;
      // A group that was locked in vain stays so until the transaction ends.
      claimed.push(...(yield bind(row, { ...values, id: head["id"] })).rows);
    }
    return claimed;
  });
}

function freeHeads(sql: TableSql, settings: ClaimSettings): Statement {
  const { from, parts } = readyHeads(sql, settings);
  const { name, schema } = sql.table;
  const prefix = literal(schema === undefined ? `${name}/` : `${schema}.${name}/`);
  const lock = lockName(`CONCAT(${prefix}, CAST(ready.value AS CHAR))`);
  return sql.statement(`${parts}SELECT CAST(ready.id AS CHAR) AS id, ${lock} AS \`lock\`
FROM ${from}
WHERE IS_FREE_LOCK(${lock}) = 1
ORDER BY ready.turn`);
}

function lockHead(sql: TableSql, settings: ClaimSettings): Statement {
  return inOrder(
    sql.statement(`SELECT ${claimedColumns(sql, settings, NOTHING_WRITTEN)}, 1 AS turn
FROM ${sql.byId}
WHERE ${all(`i.${sql.id} = ${sql.idValue()}`, stillOfGroup(sql, settings), sql.claimable())}
FOR UPDATE SKIP LOCKED`),
  );
}
