/**
 * What every statement is spelled with: the one place where names, texts and times become SQL.
 *
 * Times are stored in UTC: a DATETIME has no time zone, and what a session's zone is says nothing of it.
 */

/** A checked name as an identifier that keeps its case. */
export function quoted(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

/**
 * A text as a literal. By its bytes where a backslash or a quote is in it: what a backslash means there is
 * the session's to say (NO_BACKSLASH_ESCAPES).
 */
export function literal(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text) && !/['\\]/.test(text)) return `'${text}'`;
  return `_utf8mb4 x'${Buffer.from(text).toString("hex")}'`;
}

export const longestName = { length: 64, unit: "characters" } as const;

/** The database's clock: one instant for the whole statement. */
export const instant = "UTC_TIMESTAMP(6)";

/**
 * `ms` milliseconds after `base`. The calendar ends with the year 9999, and NULL would mean "at once": what
 * is later than six thousand years from now comes then.
 */
export function later(base: string, ms: string): string {
  return `TIMESTAMPADD(MICROSECOND, CAST(LEAST(${ms}, ${LONGEST_MS}) * 1000 AS SIGNED), ${base})`;
}

const LONGEST_MS = "189000000000000";

/** A time as text that loses nothing, and that a DATETIME is made of again. */
export function timeText(expression: string): string {
  return `CAST(${expression} AS CHAR)`;
}

/** A time as people read it, ISO 8601: the same on every database. */
export function isoTime(expression: string): string {
  return `CONCAT(REPLACE(${timeText(expression)}, ' ', 'T'), 'Z')`;
}

/** What {@link timeText} wrote as a time. */
export function time(text: string): string {
  return `CAST(${text} AS DATETIME(6))`;
}

/** ISO 8601 in UTC, as JavaScript writes it, as the database reads it whatever its version. */
export function sqlTime(iso: string): string {
  return iso.replace("T", " ").replace("Z", "");
}

/** A statement fails its transaction on purpose: the claim holds no more. */
export class ClaimLost extends Error {
  override readonly name = "ClaimLost";
}

export function isClaimLost(error: unknown): boolean {
  return error instanceof ClaimLost;
}
