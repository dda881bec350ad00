/** What every statement is spelled with: the one place where names and texts become SQL. */

/**
 * The instant of a claim: one for the whole statement. A clock that moves within it would open a
 * window in which a lease is both expired and alive, and it keeps the due index from ending the scan
 * (200,000 rows due later: 1,432 buffers against 3).
 */
export const instant = "statement_timestamp()";

/** Milliseconds, given as a parameter, as an interval. */
export function milliseconds(parameter: string): string {
  return `${parameter}::double precision * interval '1 millisecond'`;
}

/** A time as text that no driver rounds to milliseconds and no session setting changes. */
export function isoTime(expression: string): string {
  return `to_char(${expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** A checked name as an identifier that keeps its case. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * A text as a literal, whatever `standard_conforming_strings` says.
 */
export function literal(text: string): string {
  const doubled = text.replaceAll("'", "''");
  return text.includes("\\") ? `E'${doubled.replaceAll("\\", "\\\\")}'` : `'${doubled}'`;
}

/**
 * Values as the text of an array, for a parameter that takes one: every driver sends text the same
 * way, with or without knowledge of array types.
 */
export function arrayText(values: readonly (string | number | null)[]): string {
  return `{${values.map(element).join(",")}}`;
}

function element(value: string | number | null): string {
  if (value === null) return "NULL";
  const text = String(value);
  if (/^[\w.:+-]+$/.test(text) && text.toUpperCase() !== "NULL") return text;
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** The longest name. PostgreSQL cuts longer ones off. */
export const longestName = { length: 63, unit: "bytes" } as const;

/** `base` and `suffix` in a name; what is too long is told apart by a hash. */
export function fitted(base: string, suffix: string): string {
  if (Buffer.byteLength(base + suffix) <= longestName.length) return base + suffix;
  let hash = 0x811c9dc5;
  for (let at = 0; at < base.length; at += 1) {
    hash = Math.imul(hash ^ base.charCodeAt(at), 0x01000193) >>> 0;
  }
  const tail = `_${hash.toString(16).padStart(8, "0")}${suffix}`;
  const room = longestName.length - Buffer.byteLength(tail);
  let kept = "";
  for (const character of base) {
    if (Buffer.byteLength(kept + character) > room) break;
    kept += character;
  }
  return kept + tail;
}

/** What the error says of a statement that fails its transaction on purpose. */
export const claimLostMark = "intray: this claim is lost";

/** Whether the error is one that {@link allOrFail} makes. */
export function isClaimLost(error: unknown): boolean {
  return error instanceof Error && error.message.includes(claimLostMark);
}

/**
 * The count of the rows in FROM, or an error (22P02, with {@link claimLostMark} in its message) unless
 * it is `wanted`. A COMMIT sent right behind it, before its answer is known, then rolls back.
 *
 * The text that fails to become an integer holds the count, on purpose: a constant there is cast
 * while the statement is planned, and the statement would always fail.
 */
export function allOrFail(wanted: string, what: string): string {
  return `CASE count(*) WHEN ${wanted} THEN count(*)::int ELSE ('${claimLostMark}, ${what}: ' || count(*))::int END`;
}
