import type { Statement } from "../statement.ts";

/**
 * Has SQLite compile the statement and its parts without running them, each parameter null. Two at once, which
 * drivers do not keep: libsql leaves an explained statement open, and COMMIT waits for those that write.
 */
export function prepareStatement(statement: Statement): readonly string[] {
  const { after = [], before = [], program, text } = statement;
  if (program !== undefined) return program.parts.flatMap(prepareStatement);
  return [
    ...before.flatMap(prepareStatement),
    `EXPLAIN ${text.replaceAll(PARAMETERS, (found) => (found === "?" ? "NULL" : found))}; SELECT 1`,
    ...after.flatMap(prepareStatement),
  ];
}

/** Parameters, and what may hold their like: quoted names and literals. */
const PARAMETERS = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\?/gs;
