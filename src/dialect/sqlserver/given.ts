/**
 * Rows that a statement is given, as one parameter: a JSON array of `[n, id, token, attempt, delay, reason]`,
 * which OPENJSON takes apart. `n` counts in the order of the ids, in which every statement locks them.
 */
import type { Values } from "../statement.ts";
import { type ListColumn, listText } from "./sql.ts";

/** How OPENJSON reads them. Ids are text there: 64 bits pass, and so does a UUID. */
export const givenColumns: readonly ListColumn[] = [
  ["n", "int"],
  ["id", "nvarchar(4000)"],
  ["token", "nvarchar(40)"],
  ["attempt", "bigint"],
  ["delay", "bigint"],
  ["reason", "nvarchar(max)"],
];

/** How many rows the values give. */
export function givenCount({ ids }: Values): number {
  return Array.isArray(ids) ? ids.length : 0;
}

/** The same in the order in which the ids are given: for statements that wait for no lock. */
export function namedText(values: Values): string {
  return listText(givenRows(values).map(({ id, rest }, n) => [n, id, ...rest]));
}

export function givenText(values: Values): string {
  const rows = givenRows(values).sort((a, b) => compareIds(a.id, b.id));
  return listText(rows.map(({ id, rest }, n) => [n, id, ...rest]));
}

interface GivenRow {
  readonly id: string;
  readonly rest: readonly (string | null)[];
}

/** @throws TypeError where the values have no list of ids. */
function givenRows(values: Values): GivenRow[] {
  const { attempts, delaysMs, ids, reasons, tokens } = values;
  if (!Array.isArray(ids)) throw new TypeError("the statement needs a list of ids");
  const at = (list: unknown, index: number): string | null => {
    const value: unknown = Array.isArray(list) ? list[index] : undefined;
    return value === undefined || value === null ? null : String(value);
  };
  return ids.map((id: unknown, index) => {
    const delay = at(delaysMs, index);
    return {
      id: String(id),
      rest: [
        at(tokens, index),
        at(attempts, index),
        // A bigint takes no fraction of a millisecond.
        delay === null ? null : String(Math.ceil(Number(delay))),
        at(reasons, index),
      ],
    };
  });
}

/** Any order will do that is the same in every statement. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
