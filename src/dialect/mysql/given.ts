/**
 * Rows that a statement is given, as one parameter: a JSON array of objects, which JSON_TABLE takes apart. In the
 * order of their ids, in which every statement locks them. What a row does not have is left out: an UPDATE or a
 * DELETE of MySQL 8.0.19 refuses a null where JSON_TABLE expects a number.
 */
import type { Values } from "../statement.ts";

/** How many rows the values give. */
export function givenCount({ ids }: Values): number {
  return Array.isArray(ids) ? ids.length : 0;
}

export function givenText(values: Values): string {
  const { attempts, delaysMs, ids, reasons, tokens } = values;
  if (!Array.isArray(ids)) throw new TypeError("the statement needs a list of ids");
  const at = (list: unknown, place: number): unknown =>
    Array.isArray(list) ? (list[place] ?? undefined) : undefined;
  const rows = ids.map((id, place) => ({
    id,
    token: at(tokens, place),
    attempt: at(attempts, place),
    delay: at(delaysMs, place),
    reason: at(reasons, place),
    place,
  }));
  rows.sort((a, b) => compareIds(String(a.id), String(b.id)));
  return JSON.stringify(rows);
}

/** Any order will do that is the same in every statement. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
