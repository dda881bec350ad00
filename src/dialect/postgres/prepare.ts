import type { Statement } from "../statement.ts";

/**
 * Has the server parse and plan a statement without running it, each parameter null. Not PREPARE: that is
 * outside of transactions, and a statement that parses but cannot be planned (its table may not be read)
 * would stay on the session.
 */
export function prepareStatement({ text }: Statement): readonly string[] {
  return [
    `EXPLAIN ${text.replaceAll(PARAMETERS, (found) => (found.startsWith("$") ? "NULL" : found))}`,
  ];
}

/** Parameters, and what may hold their like: quoted names and literals. */
const PARAMETERS = /"(?:[^"]|"")*"|\bE'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\$\d+/gs;
