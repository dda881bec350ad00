/**
 * Rows in hand. What proves that they are: rows under a row lock are the transaction's, rows under an
 * advisory lock the session's; a leased row is ours while its lease's end and its attempt are those that our
 * claim wrote.
 *
 * A lease that has run out is no obstacle to a settlement: until somebody claims the row, or takes its fifo
 * group over, nobody else had it. An extension and a handler's transaction do need a lease that holds.
 *
 * Rows are taken one by one, in the order of their ids, in which every statement locks them: of one statement
 * over many rows the optimizer would choose the order, and perhaps read the table as a whole, waiting for every
 * row that somebody else has locked.
 */
import { bind } from "../bind.ts";
import type { Statement, Values } from "../statement.ts";
import { givenColumns, givenCount } from "./given.ts";
import { listed, literal, quoted, time } from "./sql.ts";
import { all, type TableSql } from "./table-names.ts";
import { types } from "./types.ts";

/** A column of an UPDATE, quoted, and what it becomes; it says of the row by `i`. */
export interface Change {
  readonly column: string;
  readonly value: string;
}

/** A statement of several that change something: it needs a transaction, unless it is given one row alone. */
export function inTransaction(
  statement: Statement,
  isSingle: (values: Values) => boolean = (values) => givenCount(values) === 1,
): Statement {
  return {
    ...statement,
    program: {
      parts: [statement],
      isSingle,
      *run(values) {
        return (yield bind(statement, values)).rows;
      },
    },
  };
}

/** What a batch over the given rows does with each of them, in `@id` and what else it was given of it. */
export interface EachRow {
  /** Run for each row; `@n` is its place. What is to be answered of it goes into `@answer (n, id, ...)`. */
  readonly each: string;
  /** Columns of the answer beside `n` and `id`. */
  readonly answers?: readonly (readonly [name: string, type: string])[];
  /** Run before the rows: nothing is declared within the loop, where not every server declares it once. */
  readonly begin?: string;
  /** Run when all rows are through. */
  readonly finally?: string;
  /** What is answered in place of `@answer`. */
  readonly answer?: string;
  /** The rows go in the order in which they are given, and not in that of their ids. Default false. */
  readonly isInPlace?: boolean;
}

/** A batch over the given rows; answers what `each` has put into `@answer`, in the order of the rows. */
export function forEachGiven(
  sql: TableSql,
  { answer, answers = [], begin, each, finally: end = "", isInPlace = false }: EachRow,
): Statement {
  const names = givenColumns.map(([name]) => name);
  const declared = givenColumns.map(
    ([name, type]) => `[${name}] ${type}${name === "n" ? " NOT NULL PRIMARY KEY" : " NULL"}`,
  );
  const columns = [
    "n int NOT NULL PRIMARY KEY",
    "id nvarchar(4000) NOT NULL",
    ...answers.map(([name, type]) => `${name} ${type} NULL`),
  ];
  return sql.statement(`DECLARE @given TABLE (${declared.join(", ")});
INSERT INTO @given (${names.map(quoted).join(", ")})
SELECT ${names.map((name) => `g.${quoted(name)}`).join(", ")}
FROM ${listed(sql.param(isInPlace ? "named" : "given"), "g", givenColumns)};
${begin === undefined ? "" : `${begin}\n`}DECLARE @answer TABLE (${columns.join(", ")});
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id ${sql.idType}, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = ${types[sql.idColumn.type].write("g.[id]")}, @named = g.[id], @token = ${time("g.[token]")}, @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
${each}
SET @n = @n + 1;
END;
${end}${answer ?? answerOf(answers)}`);
}

function answerOf(answers: NonNullable<EachRow["answers"]>): string {
  return `SELECT ${["id", ...answers.map(([name]) => name)].map((name) => `a.${name}`).join(", ")}
FROM @answer AS a
ORDER BY a.n;`;
}

/** The row called `i` is the given one, and ours. */
export function ours(sql: TableSql, isLive = false): string {
  return all(`i.${sql.id} = @id`, ...fence(sql, isLive));
}

/** What makes a leased row ours; nothing of other forms. */
export function fence(sql: TableSql, isLive = false): string[] {
  const lease = sql.of("lockedUntil");
  if (lease === undefined) return [];
  const attempt = sql.of("attempt");
  return [
    `${lease} = @token`,
    ...(attempt === undefined ? [] : [`${attempt} = @attempt`]),
    ...sql.open(),
    ...(isLive ? [`${lease} > ${sql.now}`] : []),
  ];
}

/** What an UPDATE sets. */
export function assigned(changes: readonly Change[]): string {
  return changes.map(({ column, value }) => `${column} = ${value}`).join(",\n    ");
}

/** How a row in hand is changed: with a lock of its own, and waiting for who has it locked. */
const CHANGING = "WITH (ROWLOCK, READCOMMITTEDLOCK)";

/**
 * An UPDATE of the given row that is ours. OUTPUT goes into a table variable: by itself it is refused where the
 * table has triggers (Msg 334).
 */
export function updateOurs(
  sql: TableSql,
  changes: readonly Change[],
  hint: string = CHANGING,
): string {
  return `UPDATE i
SET ${assigned(changes)}
OUTPUT @n, @named INTO @answer (n, id)
FROM ${sql.name} AS i ${hint}
WHERE ${ours(sql)};`;
}

export function deleteOurs(sql: TableSql): string {
  return `DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM ${sql.name} AS i ${CHANGING}
WHERE ${ours(sql)};`;
}

/** The claim no longer holds the row. */
export function unleased(sql: TableSql): Change[] {
  const { lockedUntil } = sql.table.roles;
  const column = sql.column("lockedUntil");
  if (column === undefined) return [];
  return [{ column, value: lockedUntil?.nullable === false ? NEVER : "NULL" }];
}

/** The lease of a row that nobody holds, where the column cannot be null. */
export const NEVER: string = time(literal("1970-01-01T00:00:00"));

/**
 * The attempt, one more. A column that is full stays so: a row that failed 32,767 times must not make
 * the claim of all others fail.
 */
export function counted(sql: TableSql): Change[] {
  const { attempt } = sql.table.roles;
  const column = sql.column("attempt");
  const value = sql.of("attempt");
  if (attempt === undefined || column === undefined || value === undefined) return [];
  const found = `COALESCE(${value}, ${sql.table.attemptFrom})`;
  const most = MOST[attempt.type];
  if (most === undefined) return [{ column, value: `${found} + 1` }];
  return [{ column, value: `CASE WHEN ${value} >= ${most} THEN ${value} ELSE ${found} + 1 END` }];
}

const MOST: Readonly<Record<string, string>> = {
  smallint: "32767",
  integer: "2147483647",
  bigint: "9223372036854775807",
};

/** The attempt that the claim counted, taken off again. */
export function uncounted(sql: TableSql): Change[] {
  const column = sql.column("attempt");
  const value = sql.of("attempt");
  if (column === undefined || value === undefined) return [];
  const { attemptFrom } = sql.table;
  return [
    {
      column,
      value: `CASE WHEN ${value} - 1 < ${attemptFrom} THEN ${attemptFrom} ELSE ${value} - 1 END`,
    },
  ];
}
