/** Settling rows in hand: all forms by one set of statements, over the rows that are theirs. */
import type { ClaimSettings, SettleStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { THROWN } from "./errors.ts";
import { later, literal } from "./sql.ts";
import { deadLetter } from "./table-dead-letter.ts";
import {
  type Change,
  counted,
  deleteOurs,
  type EachRow,
  forEachGiven,
  inTransaction,
  unleased,
  updateOurs,
} from "./table-given.ts";
import type { TableSql } from "./table-names.ts";

export type Build = () => TableSql;

/** Ack and drop: marked where the table has a column for it, else gone. */
export function acknowledge(sql: TableSql): string {
  const done = sql.column("processedAt");
  if (done === undefined) return deleteOurs(sql);
  return updateOurs(sql, [{ column: done, value: sql.now }, ...unleased(sql)]);
}

/** Answers `id` of each row that was ours. */
export function updating(sql: TableSql, changes: readonly Change[], hint?: string): Statement {
  return inTransaction(forEachGiven(sql, { each: updateOurs(sql, changes, hint) }));
}

/**
 * Fails its transaction unless every given row is answered. It stands in a handler's transaction always, which
 * is then rolled back by who gets the error: THROW ends the batch alone.
 */
export function orFail(sql: TableSql, what: string, each: string): Statement {
  const end: EachRow["finally"] = `IF (SELECT COUNT(*) FROM @answer) < @count
THROW ${THROWN.claimLost}, ${literal(`${what}: not all, the claim of the others is lost`)}, 1;
`;
  return forEachGiven(sql, { each, finally: end });
}

/** What every form has; `counts`: settlements count the attempt, as the claim does not. */
export function settlements(
  build: Build,
  settings: ClaimSettings,
  counts: boolean,
): SettleStatements {
  const state = (sql: TableSql) => [...unleased(sql), ...(counts ? counted(sql) : [])];
  const [acks, retries, delays] = [build(), build(), build()];
  const changes = state(retries);
  const due = delays.column("retryAfter");
  return {
    ack: inTransaction(forEachGiven(acks, { each: acknowledge(acks) })),
    ...(changes.length > 0 && { retry: updating(retries, changes) }),
    ...(due !== undefined && {
      retryAfter: updating(delays, [
        { column: due, value: later(delays.now, "@delay") },
        ...state(delays),
      ]),
    }),
    ...(settings.deadLetter !== undefined && {
      deadLetter: deadLetter(build, settings.deadLetter),
    }),
  };
}
