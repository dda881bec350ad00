/** Settling rows in hand: all forms by one set of statements, over the rows that are theirs. */
import type { ClaimSettings, SettleStatements } from "../dialect.ts";
import { deadLetter } from "./table-dead-letter.ts";
import { type Change, remove, unleased, update } from "./table-held.ts";
import type { TableSql } from "./table-names.ts";

/** Ack and drop: marked where the table has a column for it, else gone. */
export function ack(sql: TableSql): string {
  const done = sql.column("processedAt");
  if (done === undefined) return remove(sql);
  return update(sql, [{ column: done, value: sql.now }, ...unleased(sql)]);
}

/** The row is due `delay` milliseconds from now. */
function retryAfter(sql: TableSql, more: readonly Change[]): string | undefined {
  const column = sql.column("retryAfter");
  if (column === undefined) return undefined;
  const lists = [{ column: "delay", param: "delaysMs", type: "REAL" }];
  return update(sql, [{ column, value: sql.later("given.delay") }, ...more], { lists });
}

/** What every form has: the claim has counted the attempt already. */
export function settlements(build: () => TableSql, settings: ClaimSettings): SettleStatements {
  const acks = build();
  const retries = build();
  const delays = build();
  const changes = unleased(retries);
  const delayed = retryAfter(delays, unleased(delays));
  return {
    ack: acks.statement(ack(acks)),
    ...(changes.length > 0 && { retry: retries.statement(update(retries, changes)) }),
    ...(delayed !== undefined && { retryAfter: delays.statement(delayed) }),
    ...(settings.deadLetter !== undefined && {
      deadLetter: deadLetter(build, settings.deadLetter),
    }),
  };
}
