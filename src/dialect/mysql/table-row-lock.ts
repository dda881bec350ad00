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
import type { ProgramRun, Statement, Values } from "../statement.ts";
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
import { firstOfEach, readNamed, takeRows } from "./table-custom.ts";
import { readyHeads } from "./table-heads.ts";
import { all, bytes, TableSql } from "./table-names.ts";
import { placeText } from "./table-order.ts";
import { type Build, programOf } from "./table-program.ts";
import { settlements } from "./table-settle.ts";
import { walkStatements } from "./table-walk.ts";

const NOTHING_WRITTEN: Taking = { counts: false };

export function rowLockStatements(
  table: TableDescription,
  settings: ClaimSettings,
): RowLockStatements {
  const build = () => new TableSql(table);
  const settled = settlements(build, settings, true);
  if (table.fifo === "none") {
    return {
      claim: claim(build, settings),
      ...settled,
      take: takeRows(build(), settings),
    };
  }
  return {
    claim: fifoClaim(build, settings),
    ...walkStatements(build(), settings),
    unlock: { text: "DO RELEASE_ALL_LOCKS()", params: [] },
    ...settled,
    take: takeFifoRows(build(), build(), settings),
  };
}

function claim(build: Build, settings: ClaimSettings): Statement {
  const rows = reading(build, settings, () => NOTHING_WRITTEN);
  return programOf([rows.near, rows.far], (values) => readRows(rows, values));
}

/** Tries the groups in the order of their heads, until it has enough of them. */
function fifoClaim(build: Build, settings: ClaimSettings): Statement {
  const heads = freeHeads(build(), settings);
  const locking = build();
  const row = lockHead(locking, settings, `${placeText(locking)} = ${locking.param("place")}`);
  return programOf([heads, LOCK, row], function* (values) {
    const found = (yield bind(heads, values)).rows;
    return yield* lockGroups(found, row, values, Number(values["limit"]));
  });
}

/** Of a claim of the service's own: the first named row of each group, if nobody has locked the group. */
function takeFifoRows(reading: TableSql, locking: TableSql, settings: ClaimSettings): Statement {
  const lock = groupLock(reading, reading.of("group") ?? "NULL");
  const named = readNamed(reading, settings, lock, `IS_FREE_LOCK(${lock}) = 1`);
  const row = lockHead(locking, settings);
  return programOf([named, LOCK, row], function* (values) {
    const heads = firstOfEach((yield bind(named, values)).rows);
    const found = heads.map(({ id, shared }) => ({ id, lock: shared }));
    return yield* lockGroups(found, row, values, found.length);
  });
}

const LOCK: Statement = { text: "SELECT GET_LOCK(?, 0) AS taken", params: ["lock"] };

/** Tries rows by the locks of their groups, one row each. */
function* lockGroups(
  found: readonly Readonly<Record<string, unknown>>[],
  row: Statement,
  values: Values,
  limit: number,
): ProgramRun {
  const claimed: Readonly<Record<string, unknown>>[] = [];
  for (const { id, lock, place } of found) {
    if (claimed.length >= limit) break;
    const { rows: answers } = yield bind(LOCK, { lock });
    if (Number(answers[0]?.["taken"]) !== 1) continue;
    // A group that was locked in vain stays so until the transaction ends.
    claimed.push(...(yield bind(row, { ...values, id, lock, place })).rows);
  }
  return claimed;
}

function freeHeads(sql: TableSql, settings: ClaimSettings): Statement {
  const lock = groupLock(sql, "ready.value");
  return sql.statement(`SELECT CAST(ready.id AS CHAR) AS id, ${lock} AS \`lock\`, ready.place
FROM ${readyHeads(sql, settings)}
WHERE IS_FREE_LOCK(${lock}) = 1
ORDER BY ready.turn`);
}

/** The name of the lock of a group. */
function groupLock({ table }: TableSql, group: string): string {
  return lockName(table, `CONCAT(${literal(`${table.name}/`)}, CAST(${group} AS CHAR))`);
}

/** The row `id`, if it is claimable still and of the group that was locked. */
function lockHead(sql: TableSql, settings: ClaimSettings, ...more: readonly string[]): Statement {
  const lock = groupLock(sql, sql.of("group") ?? "NULL");
  const isOfLocked = `${bytes(lock)} = ${bytes(sql.param("lock"))}`;
  return inOrder(
    sql.statement(`SELECT ${claimedColumns(sql, settings, NOTHING_WRITTEN)}, 1 AS turn
FROM ${sql.byId}
WHERE ${all(`i.${sql.id} = ${sql.idValue()}`, stillOfGroup(sql, settings), isOfLocked, more, sql.claimable())}
FOR UPDATE SKIP LOCKED`),
  );
}
