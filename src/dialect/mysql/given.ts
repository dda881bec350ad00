/**
 * Rows that a statement is given, as one parameter: a JSON array of `[id, token, attempt, delay, reason,
 * place]`, which JSON_TABLE takes apart. In the order of their ids, in which every statement locks them.
 */
import type { Values } from "../statement.ts";

/** How many rows the values give. */
export function givenCount({ ids }: Values): number {
  return Array.isArray(ids) ? ids.length : 0;
}

export function givenText(values: Values): string {
  const { attempts, delaysMs, ids, reasons, tokens } = values;
  if (!Array.isArray(ids)) throw new TypeError("the statement needs a list of ids");
  const rows = ids.map((id, place) => {
    const lists = [tokens, attempts, delaysMs, reasons];
    const rest = lists.map((list) => (Array.isArray(list) ? (list[place] ?? null) : null));
    return { id, rest: [...rest, place] };
  });
  rows.sort((a, b) => compareIds(String(a.id), String(b.id)));
  return JSON.stringify(rows.map(({ id, rest }) => [id, ...rest]));
}

/** Any order will do that is the same in every statement. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
