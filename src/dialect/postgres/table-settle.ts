/** Settling rows in hand: all forms by one set of statements, over the rows that are theirs. */
import type { ClaimSettings, SettleStatements } from "../dialect.ts";
import { allOrFail, milliseconds } from "./sql.ts";
import { deadLetter } from "./table-dead-letter.ts";
import { type Change, counted, heldRows, unleased, update } from "./table-held.ts";
import type { TableSql } from "./table-names.ts";

/** Ack and drop: marked where the table has a column for it, else gone. In two parts: CTEs, statement. */
export function ack(sql: TableSql): readonly [held: string, change: string] {
  const done = sql.column("processedAt");
  if (done !== undefined) {
    return [heldRows(sql), update(sql, [{ column: done, value: sql.clock }, ...unleased(sql)])];
  }
  return [
    heldRows(sql, { lock: "UPDATE" }),
    `DELETE FROM ${sql.name} AS i
USING locked
WHERE i.${sql.id} = locked.id
RETURNING i.${sql.id}::text AS id`,
  ];
}

/** The row is due `delay` milliseconds from now. */
function retryAfter(sql: TableSql, more: readonly Change[]): string | undefined {
  const column = sql.column("retryAfter");
  if (column === undefined) return undefined;
  const lists = [{ column: "delay", param: "delaysMs", type: "double precision" }];
  const value = `${sql.clock} + ${milliseconds("locked.delay")}`;
  return `${heldRows(sql, { lists })}
${update(sql, [{ column, value }, ...more])}`;
}

/** What every form has; `counts`: settlements count the attempt, as the claim does not. */
export function settlements(
  build: () => TableSql,
  settings: ClaimSettings,
  counts: boolean,
): SettleStatements {
  const state = (sql: TableSql) => [...unleased(sql), ...(counts ? counted(sql) : [])];
  const acks = build();
  const retries = build();
  const delays = build();
  const changes = state(retries);
  const delayed = retryAfter(delays, state(delays));
  return {
    ack: acks.statement(ack(acks).join("\n")),
    ...(changes.length > 0 && {
      retry: retries.statement(`${heldRows(retries)}\n${update(retries, changes)}`),
    }),
    ...(delayed !== undefined && { retryAfter: delays.statement(delayed) }),
    ...(settings.deadLetter !== undefined && {
      deadLetter: deadLetter(build(), settings.deadLetter),
    }),
  };
}

/** A statement over `locked` that fails unless all given rows are in it. */
export function failUnlessAll(what: string, from: string): string {
  return `SELECT ${allOrFail("(SELECT count(*) FROM given)", what)} AS done
FROM ${from}`;
}
