/**
 * Advisory locks: the session holds the row's key by sp_getapplock, and no transaction is open while the handler
 * runs.
 *
 * The claim reads the first rows in their order and tries their keys, one row a key: a session that holds a key gets
 * it again, and would then take a second row of it. It goes on with the next rows, past all keys that it has
 * tried, so that however many rows of held keys stand before the first free one, it is found. With the key locked,
 * the row is taken as it is now: whoever held the key before may have settled it since. A key that was locked in
 * vain is given back at once. If the claim fails, though, the session keeps what it had locked: then its
 * connection must be closed. (APPLOCK_TEST could tell which keys are held without trying; not every server that has
 * sp_getapplock has it.)
 *
 * Each row that is taken is an UPDATE that commits by itself; a row that somebody has locked otherwise is passed
 * over (READPAST), with READ_COMMITTED_SNAPSHOT on and off.
 */
import type { TableDescription } from "../../table/description.ts";
import type { AdvisoryLockStatements, ClaimSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { giveLock, keyLockName, takeLock } from "./lock-name.ts";
import {
  answerClaimed,
  claimedCells,
  declareClaimed,
  lockKey,
  ofGroup,
  stillOfGroup,
} from "./table-claim.ts";
import { candidates, takeLocked } from "./table-custom.ts";
import { assigned, counted, forEachGiven, uncounted } from "./table-given.ts";
import { all, isExactly, TableSql } from "./table-names.ts";
import { AT_READ_COMMITTED, dueRows, place, TAKING } from "./table-order.ts";
import { settlements, updating } from "./table-settle.ts";
import { GOING_ON } from "./transactions.ts";

export function advisoryLockStatements(
  table: TableDescription,
  settings: ClaimSettings,
): AdvisoryLockStatements {
  const build = () => new TableSql(table);
  return {
    claim: claim(build(), settings),
    unlock: UNLOCK,
    release: release(build()),
    ...settlements(build, settings, false),
    ...(table.custom?.lock !== undefined && {
      candidates: candidates(build(), settings),
      take: takeLocked(build(), settings),
    }),
  };
}

/** Giving back what is not held is an error (Msg 1223), which says so. */
const UNLOCK: Statement = {
  text: `SET NOCOUNT ON;
${GOING_ON}
DECLARE @lock nvarchar(255) = @p1, @released int = 0;
BEGIN TRY
${giveLock("Session").replace("EXEC ", "EXEC @released = ")}
SET @released = CASE WHEN @released = 0 THEN 1 ELSE 0 END;
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1223 THROW;
SET @released = 0;
END CATCH;
SELECT @released AS released;`,
  params: ["lock"],
};

/** How many rows are read at once. */
const rowsAhead = 200;

function claim(sql: TableSql, settings: ClaimSettings): Statement {
  const name = (alias: string) => keyLockName(lockKey(sql, alias));
  const isTried = `EXISTS (SELECT 1 FROM @tried AS d WHERE ${isExactly(name("i"), "d.lock")})`;
  const conditions = [...ofGroup(sql, settings), ...sql.open(), ...sql.free(), `NOT ${isTried}`];
  const changes = counted(sql);
  const alias = changes.length === 0 ? "i" : "inserted";
  const { names, values } = claimedCells(sql, settings, { alias, turn: "@turn" });
  const from = `FROM ${sql.name} AS i ${TAKING}
WHERE ${all(`i.${sql.id} = @id`, stillOfGroup(sql, settings), sql.claimable(), isExactly(name("i"), "@lock"))};`;
  const take =
    changes.length === 0
      ? `INSERT INTO @claimed (${names}, lock)
SELECT ${values}, @lock
${from}`
      : `UPDATE i
SET ${assigned(changes)}
OUTPUT ${values}, @lock
INTO @claimed (${names}, lock)
${from}`;
  const { limit } = sql;
  return sql.statement(`${AT_READ_COMMITTED}
DECLARE @candidate TABLE (turn int NOT NULL PRIMARY KEY, id ${sql.idType} NOT NULL, lock nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL);
DECLARE @tried TABLE (lock nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL);
${declareClaimed(sql, settings, ", lock nvarchar(255) NULL")}
DECLARE @base int = 0, @turn int, @taken int = 0, @granted int, @id ${sql.idType}, @lock nvarchar(255);
WHILE @taken < ${limit}
BEGIN
SET @lock = NULL;
SELECT TOP (1) @turn = c.turn, @id = c.id, @lock = c.lock FROM @candidate AS c ORDER BY c.turn;
IF @lock IS NULL
BEGIN
INSERT INTO @candidate (turn, id, lock)
SELECT TOP (${rowsAhead}) @base + ROW_NUMBER() OVER (ORDER BY ${place(sql, "due_row")}), due_row.id, due_row.lock_name
FROM (
${dueRows(sql, { conditions, extra: [`${name("i")} AS lock_name`] }, String(rowsAhead))}
) AS due_row
ORDER BY ${place(sql, "due_row")};
IF @@ROWCOUNT = 0 BREAK;
SET @base = @base + ${rowsAhead};
CONTINUE;
END;
DELETE FROM @candidate WHERE lock + N'|' = @lock + N'|';
INSERT INTO @tried (lock) VALUES (@lock);
${takeLock("Session")}
IF @granted >= 0
BEGIN
${take}
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @turn)
SET @taken = @taken + 1;
ELSE
${giveLock("Session")}
END;
END;
${answerClaimed(sql, settings, { more: ", t.lock" })}`);
}

/** For a row whose handler did not start. Without an attempt there is nothing to take off. */
function release(sql: TableSql): Statement {
  const changes = uncounted(sql);
  if (changes.length > 0) return updating(sql, changes);
  return forEachGiven(sql, { each: "INSERT INTO @answer (n, id) VALUES (@n, @named);" });
}
