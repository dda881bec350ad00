/** Settling rows in hand: all forms by one set of statements, over the rows that are theirs. */
import type { ClaimSettings, SettleStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { deadLetter } from "./table-dead-letter.ts";
import { counted, unleased } from "./table-given.ts";
import type { TableSql } from "./table-names.ts";
import { type Build, removing, updating } from "./table-program.ts";

/** Ack and drop: marked where the table has a column for it, else gone. */
export function acknowledging(build: Build): Statement {
  const done = build().column("processedAt");
  if (done === undefined) return removing(build);
  return updating(build, (sql) => [{ column: done, value: sql.now }, ...unleased(sql)]);
}

/** What every form has; `counts`: settlements count the attempt, as the claim does not. */
export function settlements(
  build: Build,
  settings: ClaimSettings,
  counts: boolean,
): SettleStatements {
  const state = (sql: TableSql) => [...unleased(sql), ...(counts ? counted(sql) : [])];
  const due = build().column("retryAfter");
  return {
    ack: acknowledging(build),
    ...(state(build()).length > 0 && { retry: updating(build, state) }),
    ...(due !== undefined && {
      retryAfter: updating(build, (sql, source) => {
        const delay =
          source === "given" ? "g.delay" : `CAST(${sql.param("delay")} AS DECIMAL(30, 3))`;
        return [{ column: due, value: sql.later(delay) }, ...state(sql)];
      }),
    }),
    ...(settings.deadLetter !== undefined && {
      deadLetter: deadLetter(build, settings.deadLetter),
    }),
  };
}
