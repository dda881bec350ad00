/** What a leased row goes through while it is ours: extended, given back, locked, acknowledged, asked for. */
import type { LeaseSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { forEachGiven, inTransaction, ours, uncounted, unleased } from "./table-given.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { all, type TableSql } from "./table-names.ts";
import { acknowledge, orFail, updating } from "./table-settle.ts";
import { GOING_ON } from "./transactions.ts";
import { types } from "./types.ts";

export const OUTCOME: readonly [name: string, type: string] = ["outcome", "nvarchar(10)"];

/**
 * Waits for no lock. NOWAIT and not READPAST: a row that its own settlement has locked is then seen, even one
 * that the settlement has deleted and not committed, and is `locked`, neither lost nor extended. The error is
 * Msg 1222, which undoes its own statement; every row is extended or none, where another error comes.
 */
export function extend(sql: TableSql, settings: LeaseSettings): Statement {
  const lease = sql.column("lockedUntil") ?? "";
  const stored = types.timestamp.read(`inserted.${lease}`);
  const each = `UPDATE i
SET ${lease} = ${leaseEnd(sql, settings)}
OUTPUT @n, @named, N'extended', ${stored} INTO @answer (n, id, outcome, token)
FROM ${sql.name} AS i WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE ${ours(sql, true)};`;
  return inTransaction(
    forEachGiven(sql, {
      begin: GOING_ON,
      each: orLocked(each, "lost"),
      answers: [OUTCOME, ["token", "nvarchar(40)"]],
    }),
  );
}

/** What `each` answers nothing of is `otherwise`; and `locked`, where it met a lock that it did not wait for. */
export function orLocked(each: string, otherwise: string): string {
  return `BEGIN TRY
${each}
INSERT INTO @answer (n, id, outcome)
SELECT @n, @named, N'${otherwise}' WHERE NOT EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
INSERT INTO @answer (n, id, outcome) VALUES (@n, @named, N'locked');
END CATCH;`;
}

/** A locked row is passed over: its own transaction decides what becomes of it. */
export function release(sql: TableSql): Statement {
  const changes = [...unleased(sql), ...uncounted(sql)];
  return updating(sql, changes, "WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)");
}

export function ackOrFail(sql: TableSql): Statement {
  return orFail(sql, "rows acknowledged", acknowledge(sql));
}

/**
 * An update lock for as long as the transaction lasts: claims and extensions pass over the row. The row is read
 * as it is now, at SNAPSHOT too; this is the transaction's first statement, and its snapshot is no older.
 */
export function lockOrFail(sql: TableSql): Statement {
  const each = `INSERT INTO @answer (n, id)
SELECT @n, @named
FROM ${sql.name} AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE ${ours(sql, true)};`;
  return orFail(sql, "rows locked", each);
}

/**
 * Where rows stand whose commit was not answered: `ours`: in work under our claim, so nothing was
 * committed; `locked`: a transaction that has not ended holds the row; `taken`: in work under another
 * claim; `settled`: processed under our attempt, so by us; `gone`: there is no such row; `other`.
 *
 * The update lock is one that a settlement's excludes, and lasts no longer than the statement.
 */
export function readBack(sql: TableSql): Statement {
  const lease = sql.of("lockedUntil");
  const done = sql.of("processedAt");
  const attempt = sql.of("attempt");
  const settled =
    done === undefined || attempt === undefined
      ? []
      : [`WHEN ${done} IS NOT NULL AND ${attempt} = @attempt THEN N'settled'`];
  const each = `INSERT INTO @answer (n, id, outcome)
SELECT @n, @named, CASE
  WHEN ${ours(sql)} THEN N'ours'
  ${[`WHEN ${all(sql.open(), `${lease} IS NOT NULL`)} THEN N'taken'`, ...settled].join("\n  ")}
  ELSE N'other'
END
FROM ${sql.name} AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE i.${sql.id} = @id;`;
  const answers = [OUTCOME];
  return forEachGiven(sql, { begin: GOING_ON, each: orLocked(each, "gone"), answers });
}
