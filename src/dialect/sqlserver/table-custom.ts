/**
 * What the library does around a service's own events: it takes the rows that a claim named, as far as they can be
 * claimed still; it reads the keys of rows that a lock is to be tried for; it looks at leases before and after an
 * event extended them. In which order rows go out, the event itself has decided.
 *
 * Of a fifo group one row is in work all the same, whichever rows a claim names: the first named one, and only where
 * the group is free, by what the form's own claim goes by. No row is waited for: one that somebody has locked is
 * passed over, as in the form's own claim.
 */
import type { ClaimSettings, LeaseSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { giveLock, takeLock } from "./lock-name.ts";
import { listed } from "./sql.ts";
import {
  answerClaimed,
  claimedCells,
  declareClaimed,
  lockKey,
  ofGroup,
  stillOfGroup,
} from "./table-claim.ts";
import { claimHead, groupLockName } from "./table-fifo.ts";
import {
  assigned,
  type Change,
  counted,
  forEachGiven,
  inTransaction,
  ours,
} from "./table-given.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { OUTCOME, orLocked } from "./table-lease-hold.ts";
import { all, isExactly, type TableSql } from "./table-names.ts";
import { dueRows, LOOKING, place, TAKING } from "./table-order.ts";
import { rowLockName } from "./table-row-lock-name.ts";
import { GOING_ON } from "./transactions.ts";
import { types, variableTypes } from "./types.ts";

/** group (if one), ids. Those of the rows that can be claimed still. */
export function takeRows(sql: TableSql, settings: ClaimSettings): Statement {
  if (sql.table.fifo !== "none") return takeHeads(sql, settings, []);
  const each = `SET @lock = ${rowLockName(sql, "@named")};
${takeLock("Transaction")}
IF @granted >= 0
BEGIN
${takeNamed(sql, settings, [])}
IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @n)
${giveLock("Transaction")}
END;`;
  return forEachNamed(sql, settings, each);
}

/** group (if one), ids, leaseMs. The same, and leased: an UPDATE a row. */
export function takeLeases(
  sql: TableSql,
  settings: LeaseSettings,
  changes: readonly Change[],
): Statement {
  if (sql.table.fifo !== "none") {
    return inTransaction(takeHeads(sql, settings, changes), () => false);
  }
  return inTransaction(forEachNamed(sql, settings, takeNamed(sql, settings, changes)));
}

/** group (if one), ids, key. Rows whose key is locked: whoever held it before may have settled them. */
export function takeLocked(sql: TableSql, settings: ClaimSettings): Statement {
  const key = sql.variable("key", "nvarchar(max)", sql.param("key"));
  const isKeys = isExactly(lockKey(sql, "i"), key);
  const each = takeNamed(sql, settings, counted(sql), [isKeys]);
  return inTransaction(forEachNamed(sql, settings, each));
}

/** A batch over the named rows, in the order in which they are named; answers what is in `@claimed`. */
function forEachNamed(sql: TableSql, settings: ClaimSettings, each: string): Statement {
  return forEachGiven(sql, {
    isInPlace: true,
    begin: `${declareClaimed(sql, settings)}\nDECLARE @lock nvarchar(255), @granted int;`,
    each,
    answer: answerClaimed(sql, settings),
  });
}

/** Takes the row `@id`, looked at under its lock. */
function takeNamed(
  sql: TableSql,
  settings: ClaimSettings,
  changes: readonly Change[],
  more: readonly string[] = [],
): string {
  const alias = changes.length === 0 ? "i" : "inserted";
  const { names, values } = claimedCells(sql, settings, { alias, turn: "@n" });
  const from = `FROM ${sql.name} AS i ${TAKING}
WHERE ${all(`i.${sql.id} = @id`, stillOfGroup(sql, settings), sql.claimable(), more)};`;
  if (changes.length === 0) return `INSERT INTO @claimed (${names})\nSELECT ${values}\n${from}`;
  return `UPDATE i
SET ${assigned(changes)}
OUTPUT ${values}
INTO @claimed (${names})
${from}`;
}

/** Of each group the first row that is named, where the group is free. */
function takeHeads(sql: TableSql, settings: ClaimSettings, changes: readonly Change[]): Statement {
  const { group } = sql.table.roles;
  if (group === undefined) throw new TypeError("a fifo table has a group column");
  const column = sql.columnOf(group);
  const each = `SET @group_named = NULL;
SELECT @value = ${column}, @group_named = ${types[group.type].read(column)}
FROM ${sql.name} AS i ${LOOKING}
WHERE ${all(`i.${sql.id} = @id`, stillOfGroup(sql, settings), sql.claimable())};
IF @group_named IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @tried AS d WHERE d.name = @group_named)
BEGIN
INSERT INTO @tried (name) VALUES (@group_named);
SET @lock = ${groupLockName(sql, "@group_named")};
${takeLock("Transaction")}
IF @granted >= 0
BEGIN
BEGIN TRY
${claimHead(sql, settings, { changes, turn: "@n" })}
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
END CATCH;
IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @n)
${giveLock("Transaction")}
END;
END;`;
  return forEachGiven(sql, {
    isInPlace: true,
    begin: `${GOING_ON}
${declareClaimed(sql, settings)}
DECLARE @tried TABLE (name nvarchar(4000) COLLATE Latin1_General_BIN2 NOT NULL);
DECLARE @lock nvarchar(255), @granted int, @value ${variableTypes[group.type]}, @group_named nvarchar(4000);`,
    each,
    answer: answerClaimed(sql, settings),
  });
}

/**
 * group (if one), limit, keys. The first row of each key, in order, but for the keys that are named. Answers `id`
 * and `key`. Keys are told apart by their code units: a lock of the service's own may tell capitals apart.
 */
export function candidates(sql: TableSql, settings: ClaimSettings): Statement {
  const key = lockKey(sql, "i");
  const isTried = `EXISTS (SELECT 1 FROM @tried AS d WHERE ${isExactly(key, "d.name")})`;
  const conditions = [...ofGroup(sql, settings), ...sql.open(), ...sql.free(), `NOT ${isTried}`];
  const extra = [`${sql.idText()} AS named`, `${key} AS lock_key`];
  // Many rows may share a key; one that leaves too few is read behind by the next statement.
  const most = String(2 * settings.mostRows + 10);
  return sql.statement(`DECLARE @tried TABLE (name nvarchar(max) NULL);
INSERT INTO @tried (name)
SELECT k.[name] FROM ${listed(sql.param("keys"), "k", [["name", "nvarchar(max)"]])};
SELECT TOP (${sql.limit}) ranked.named AS id, ranked.lock_key AS [key]
FROM (
  SELECT ahead.*, ROW_NUMBER() OVER (
    PARTITION BY (ahead.lock_key + N'|') COLLATE Latin1_General_BIN2 ORDER BY ${place(sql, "ahead")}
  ) AS turn
  FROM (
    SELECT TOP (${most}) each_row.*
    FROM (
${dueRows(sql, { conditions, extra }, most)}
    ) AS each_row
    ORDER BY ${place(sql, "each_row")}
  ) AS ahead
) AS ranked
WHERE ranked.turn = 1
ORDER BY ${place(sql, "ranked")};`);
}

/**
 * ids, tokens, attempts, leaseMs. Locks the rows that are ours and whose leases have not run out, and waits for
 * none (Msg 1222 says that it is locked); answers for each `id`, `outcome` (ours, locked, lost), and of ours
 * `held` and `until`: the lease's end as it is and as it is to be.
 */
export function extendable(sql: TableSql, settings: LeaseSettings): Statement {
  const { read } = types.timestamp;
  const each = `INSERT INTO @answer (n, id, outcome, held, until)
SELECT @n, @named, N'ours', ${read(sql.of("lockedUntil") ?? "NULL")}, ${read(leaseEnd(sql, settings))}
FROM ${sql.name} AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE ${ours(sql, true)};`;
  const answers = [OUTCOME, ["held", "nvarchar(40)"], ["until", "nvarchar(40)"]] as const;
  return forEachGiven(sql, { begin: GOING_ON, each: orLocked(each, "lost"), answers });
}

/** ids. Their tokens as they are now. Answers `id` and `token`. */
export function tokens(sql: TableSql): Statement {
  const token = types.timestamp.read(sql.of("lockedUntil") ?? "NULL");
  const each = `INSERT INTO @answer (n, id, token)
SELECT @n, @named, ${token}
FROM ${sql.name} AS i
WHERE i.${sql.id} = @id;`;
  return forEachGiven(sql, { each, answers: [["token", "nvarchar(40)"]] });
}
