/**
 * Row locks: the claim's transaction stays open for the handler, so the lock is the row's own.
 *
 *     look at the first rows, no lock kept --> for each in order: its application lock, if it is free
 *                                              --> the row under an update lock, looked at again
 *
 * What a second claimer sees of a claimed row: it reads it (an update lock lets readers on), does not get its
 * application lock, and goes on to the next. The update lock keeps the row from everybody who changes rows
 * without asking for application locks; the application lock keeps it from other claimers where a server takes
 * lock hints for comments. Both end with the transaction.
 *
 * At READ COMMITTED and at REPEATABLE READ this is the same, with and without READ_COMMITTED_SNAPSHOT: the hints
 * say how each read locks (see table-order.ts). At SERIALIZABLE and SNAPSHOT READPAST is refused.
 *
 * A fifo group has one row in work, across all brokers: see table-fifo.ts.
 */
import type { TableDescription } from "../../table/description.ts";
import type { ClaimSettings, RowLockStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { giveLock, takeLock } from "./lock-name.ts";
import {
  answerClaimed,
  claimedCells,
  declareClaimed,
  ofGroup,
  stillOfGroup,
  windows,
} from "./table-claim.ts";
import { takeRows } from "./table-custom.ts";
import { fifoClaim } from "./table-fifo.ts";
import { all, TableSql } from "./table-names.ts";
import { dueRows, place, TAKING } from "./table-order.ts";
import { rowLockName } from "./table-row-lock-name.ts";
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
  const conditions = [...ofGroup(sql, settings), ...sql.open(), ...sql.free()];
  const [near, far] = windows(settings);
  const { names, values } = claimedCells(sql, settings, { alias: "i", turn: "@taken + 1" });
  const { limit } = sql;
  return sql.statement(`DECLARE @candidate TABLE (turn int NOT NULL PRIMARY KEY, id ${sql.idType} NOT NULL, named nvarchar(4000) NOT NULL);
${declareClaimed(sql, settings)}
DECLARE @window int = ${near}, @found int, @turn int, @taken int = 0, @granted int;
DECLARE @id ${sql.idType}, @lock nvarchar(255);
WHILE @window > 0 AND @taken < ${limit}
BEGIN
DELETE FROM @candidate;
INSERT INTO @candidate (turn, id, named)
SELECT TOP (@window) ROW_NUMBER() OVER (ORDER BY ${place(sql, "due_row")}), due_row.id, due_row.named
FROM (
${dueRows(sql, { conditions, extra: [`${sql.idText()} AS named`] }, "@window")}
) AS due_row
ORDER BY ${place(sql, "due_row")};
SET @found = (SELECT COUNT(*) FROM @candidate);
SET @turn = 1;
WHILE @turn <= @found AND @taken < ${limit}
BEGIN
SELECT @id = c.id, @lock = ${rowLockName(sql, "c.named")}
FROM @candidate AS c
WHERE c.turn = @turn;
IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.held = @id)
BEGIN
${takeLock("Transaction")}
IF @granted >= 0
BEGIN
INSERT INTO @claimed (${names})
SELECT ${values}
FROM ${sql.name} AS i ${TAKING}
WHERE ${all(`i.${sql.id} = @id`, stillOfGroup(sql, settings), sql.claimable())};
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @taken + 1)
SET @taken = @taken + 1;
ELSE
${giveLock("Transaction")}
END;
END;
SET @turn = @turn + 1;
END;
SET @window = CASE WHEN @window = ${near} AND @found = ${near} THEN ${far} ELSE 0 END;
END;
${answerClaimed(sql, settings)}`);
}
