/**
 * What every statement is spelled with: the one place where names, texts, times and lists become T-SQL.
 *
 * Parameters are `@p1`, `@p2`... in the order of a statement's `params`. A batch declares variables too, and
 * one that has a parameter's name is Msg 134, "already been declared": variables are words (`@now`,
 * `@taken`), never `p` and a number.
 *
 * Times are stored in UTC, as datetime2(7): it has no time zone, and what a server's is says nothing of it.
 */

/** A checked name as an identifier that keeps its case. */
export function quoted(name: string): string {
  return `[${name.replaceAll("]", "]]")}]`;
}

/** A text as a literal of nvarchar: a bare '...' would lose what is not in the database's code page. */
export function literal(text: string): string {
  return `N'${text.replaceAll("'", "''")}'`;
}

export const longestName = { length: 128, unit: "characters" } as const;

/** The parameter at this position, counted from 1. */
export function placeholder(position: number): string {
  return `@p${position}`;
}

/**
 * The database's clock, in UTC and to 100 ns. Each mention in a batch reads it anew: what needs one instant
 * begins with {@link declareNow} and says {@link now}.
 */
export const instant = "SYSUTCDATETIME()";

/** The one instant of a batch, once it is declared. */
export const now = "@now";

/** What such a batch begins with. */
export const declareNow: string = `DECLARE ${now} datetime2(7) = ${instant};`;

/**
 * `ms` milliseconds after `base`; `ms` is an expression of a whole number, and may be negative.
 *
 * DATEADD takes an int, and 2^31 milliseconds are 25 days: so days first, then what is left of a day. The
 * calendar ends with the year 9999, and an overflow would be an error (Msg 517) in a settlement that must not
 * fail: what is later than seven thousand years from now comes then, and what is earlier than 2,000 years ago
 * counts as that.
 */
export function later(base: string, ms: string): string {
  const whole = `CAST(${ms} AS bigint)`;
  const capped = `CASE WHEN ${whole} > ${LONGEST_MS} THEN ${LONGEST_MS} WHEN ${whole} < -${EARLIEST_MS} THEN -${EARLIEST_MS} ELSE ${whole} END`;
  const days = `CAST((${capped}) / ${DAY_MS} AS int)`;
  const rest = `CAST((${capped}) % ${DAY_MS} AS int)`;
  return `DATEADD(millisecond, ${rest}, DATEADD(day, ${days}, ${base}))`;
}

const DAY_MS = "86400000";
/** Seven thousand years: from today that is before the year 9999 for the next nine centuries. */
const LONGEST_MS = "220903200000000";
/** Two thousand years. */
const EARLIEST_MS = "63115200000000";

/** A time as text that loses nothing: ISO 8601 with all seven digits, or as many as the column has. */
export function timeText(expression: string): string {
  return `CONVERT(varchar(33), ${expression}, 126)`;
}

/** The same as people read it, with its zone; null stays null. */
export function utcText(expression: string): string {
  return `${timeText(expression)} + 'Z'`;
}

/** Such text as a time. */
export function time(text: string): string {
  return `CONVERT(datetime2(7), ${text}, 126)`;
}

/** ISO 8601 in UTC, as JavaScript writes it, as {@link time} reads it: without the zone. */
export function sqlTime(iso: string): string {
  return iso.replace("Z", "");
}

/** A uniqueidentifier as JavaScript writes one: the server writes capitals. */
export function uuidText(expression: string): string {
  return `LOWER(CONVERT(varchar(36), ${expression}))`;
}

/** A whole number of any size as text: drivers make a number of a bigint, or a text, as they like. */
export function numberText(expression: string): string {
  return `CONVERT(varchar(20), ${expression})`;
}

/** One column of a list that travels as JSON: its name, and its type as T-SQL writes it. */
export type ListColumn = readonly [name: string, type: string];

/**
 * Rows as one text parameter: a JSON array of arrays, one a row. There is no array type, and a table type
 * would have to be created first.
 */
export function listText(rows: readonly (readonly (string | number | null)[])[]): string {
  return JSON.stringify(rows);
}

/** Values of one column as one text parameter, for {@link listed} and for {@link numbered}. */
export function valuesText(values: readonly (string | number | null)[]): string {
  return listText(values.map((value) => [value]));
}

/**
 * What {@link listText} made, as a table source called `alias` with these columns. OPENJSON is there from SQL
 * Server 2016 on, in databases of compatibility level 130 or higher.
 */
export function listed(parameter: string, alias: string, columns: readonly ListColumn[]): string {
  const described = columns
    .map(([name, type], index) => `${quoted(name)} ${type} '$[${index}]'`)
    .join(", ");
  return `OPENJSON(${parameter}) WITH (${described}) AS ${alias}`;
}

/** The lowest level at which a database has OPENJSON. */
export const lowestCompatibilityLevel = 130;
