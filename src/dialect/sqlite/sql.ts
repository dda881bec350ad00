/**
 * What every statement is spelled with: the one place where names, texts and times become SQL.
 *
 * Times are stored as ISO 8601 text in UTC with milliseconds, as JavaScript's `toISOString` writes it:
 * `2026-12-01T06:39:19.657Z`. Such text compares as the times do, so an index serves, and people can
 * read it.
 */

/** A checked name as an identifier that keeps its case. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as a literal. A literal ends at a NUL, so such a text is spelled by its bytes. */
export function literal(text: string): string {
  if (text.includes("\0")) return `CAST(x'${Buffer.from(text).toString("hex")}' AS TEXT)`;
  return `'${text.replaceAll("'", "''")}'`;
}

/** A list as one parameter, which `json_each` takes apart. */
export function listText(values: readonly (string | number | null)[]): string {
  return JSON.stringify(values);
}

/** SQLite has no limit but that of a statement. */
export const longestName = { length: 100_000, unit: "bytes" } as const;

const FORMAT = "'%Y-%m-%dT%H:%M:%fZ'";

/** The database's clock, as stored times are written: one instant for the whole statement. */
export const instant: string = `strftime(${FORMAT}, 'now')`;

/**
 * `ms` milliseconds after `base`, which is `'now'` or a stored time. SQLite's calendar ends with the year
 * 9999, and NULL would mean "at once": what is later than that is due at its end.
 */
export function later(base: string, ms: string): string {
  return `coalesce(strftime(${FORMAT}, ${base}, (${ms} / 1000.0) || ' seconds'), ${literal(LAST)})`;
}

const LAST = "9999-12-31T23:59:59.999Z";

/** What the error says of a statement that fails its transaction on purpose. */
export const claimLostMark = "intray: this claim is lost";

/** Whether the error is one that {@link failUnless} makes. */
export function isClaimLost(error: unknown): boolean {
  return error instanceof Error && error.message.includes(claimLostMark);
}

/**
 * An expression that fails with {@link claimLostMark} in its message unless the condition holds. SQL has no
 * way to raise an error outside of triggers; a JSON path that is none is quoted in the error it causes.
 */
export function failUnless(condition: string, what: string): string {
  return `CASE WHEN ${condition} THEN 1 ELSE json_extract('{}', ${literal(`${claimLostMark}, ${what}: `)} || changes()) END`;
}
