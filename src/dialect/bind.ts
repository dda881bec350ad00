import type { StatementStep } from "../driver/connection.ts";
import type { Statement } from "./statement.ts";

/** A statement of a dialect as a step, its values put in the order that its parameters stand in. */
export function bind(
  statement: Statement,
  values: Readonly<Record<string, unknown>>,
): StatementStep {
  const { after, before, order } = statement;
  const params = statement.params.map((name) => {
    if (!Object.hasOwn(values, name))
      throw new TypeError(`the statement needs a value for "${name}"`);
    return values[name];
  });
  return {
    kind: "query",
    text: statement.text,
    params,
    prepare: true,
    ...(before && { before: before.map((each) => bind(each, values)) }),
    ...(after && { after: after.map((each) => bind(each, values)) }),
    ...(order && { order }),
  };
}
