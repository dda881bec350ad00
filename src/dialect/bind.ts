import type { StatementStep } from "../driver/connection.ts";

/** A statement of a dialect as a step, its values put in the order that its parameters stand in. */
export function bind(
  statement: { readonly text: string; readonly params: readonly string[] },
  values: Readonly<Record<string, unknown>>,
): StatementStep {
  const params = statement.params.map((name) => {
    if (!Object.hasOwn(values, name))
      throw new TypeError(`the statement needs a value for "${name}"`);
    return values[name];
  });
  return { kind: "query", text: statement.text, params, prepare: true };
}
