import type { Dialect } from "../dialect/dialect.ts";
import type { Connection, QueryResult, Step } from "../driver/connection.ts";
import { hasParts, runSteps } from "../driver/run-steps.ts";

/** Something to do on a connection: a step, or an event that the service wrote itself. */
export type Action = Step | Call;

/** An event of the service's own: a function that runs on the connection. */
export interface Call {
  readonly kind: "call";
  run(connection: Connection): Promise<QueryResult>;
}

/**
 * Runs actions in order and stops at the first that fails. Steps that stand side by side go out in one
 * flush; the results stand in the actions' order.
 *
 * @throws what the failing one threw. A transaction that is open then is for the caller to roll back.
 */
export async function runActions<Row = Record<string, unknown>>(
  connection: Connection,
  actions: readonly Action[],
): Promise<QueryResult<Row>[]> {
  const results: QueryResult<Row>[] = [];
  let steps: Step[] = [];
  const send = async () => {
    const sent = steps;
    steps = [];
    results.push(...(await runSteps<Row>(connection, sent)));
  };
  for (const action of actions) {
    if (action.kind !== "call") {
      steps.push(action);
      continue;
    }
    await send();
    // What the rows hold is the caller's word, here as in `runSteps`.
    results.push((await action.run(connection)) as QueryResult<Row>);
  }
  await send();
  return results;
}

/**
 * Runs actions that no transaction is open for: each commits by itself, but where one is several
 * statements, they all commit together.
 */
export async function runAlone<Row = Record<string, unknown>>(
  connection: Connection,
  dialect: Dialect,
  actions: readonly Action[],
): Promise<QueryResult<Row>[]> {
  const hasOne = actions.some(({ kind }) => kind === "begin");
  const needsOne = actions.some((action) => action.kind === "query" && hasParts(action));
  if (hasOne || !needsOne) return await runActions<Row>(connection, actions);
  const begin = dialect.beginShort;
  const results = await runActions<Row>(connection, [begin, ...actions, { kind: "commit" }]);
  return results.slice(1, -1);
}
