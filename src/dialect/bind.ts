import type { StatementStep } from "../driver/connection.ts";
import type { Statement, Values } from "./statement.ts";

/** A statement of a dialect as a step, its values put in the order that its parameters stand in. */
export function bind(statement: Statement, values: Values): StatementStep {
  const { after, before, made = {}, order, program } = statement;
  const passed = (name: string) => {
    const make = Object.hasOwn(made, name) ? made[name] : undefined;
    if (make !== undefined) return make(values);
    if (!Object.hasOwn(values, name))
      throw new TypeError(`the statement needs a value for "${name}"`);
    return values[name];
  };
  return {
    kind: "query",
    text: statement.text,
    params: program === undefined ? statement.params.map(passed) : [],
    prepare: true,
    ...(before && { before: before.map((each) => bind(each, values)) }),
    ...(after && { after: after.map((each) => bind(each, values)) }),
    ...(order && { order }),
    ...(program && {
      program: {
        isSingle: program.isSingle?.(values) ?? false,
        run: () => program.run(values),
      },
    }),
  };
}
