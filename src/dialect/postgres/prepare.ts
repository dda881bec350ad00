import type { Statement } from "../statement.ts";
import { fitted } from "./sql.ts";

/**
 * Has the server parse and plan a statement without running it. A statement that does not parse leaves
 * nothing behind; PREPARE is outside of transactions, so the last step takes it back.
 */
export function prepareStatement({ params, text }: Statement): readonly string[] {
  const name = `"${fitted(`intray_check_${text.replaceAll(/\W+/g, "_")}`, "")}"`;
  const nulls = params.length === 0 ? "" : `(${params.map(() => "NULL").join(", ")})`;
  return [`PREPARE ${name} AS ${text}`, `EXPLAIN EXECUTE ${name}${nulls}`, `DEALLOCATE ${name}`];
}
