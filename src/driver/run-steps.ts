import type { Connection, QueryResult, Step } from "./connection.ts";

/** What a step without a result of its own (BEGIN, COMMIT, ROLLBACK) answers. */
export function noRows(): QueryResult<never> {
  return { rows: [], rowCount: 0 };
}

/**
 * Runs steps in order and stops at the first that fails: all at once where the connection pipelines,
 * one by one where it does not. The results stand in the order of the steps.
 *
 * @throws what the failing step threw. A transaction that is open then is for the caller to roll back.
 */
export async function runSteps<Row = Record<string, unknown>>(
  connection: Connection,
  steps: readonly Step[],
): Promise<QueryResult<Row>[]> {
  if (steps.length === 0) return [];
  if (connection.pipeline !== undefined) {
    // What the rows hold is the caller's word, here as in `query`.
    return (await connection.pipeline(steps)) as QueryResult<Row>[];
  }
  return runOneByOne<Row>(connection, steps);
}

/** The steps through the five methods that every connection has. */
export async function runOneByOne<Row = Record<string, unknown>>(
  connection: Connection,
  steps: readonly Step[],
): Promise<QueryResult<Row>[]> {
  const results: QueryResult<Row>[] = [];
  for (const step of steps) results.push(await runStep<Row>(connection, step));
  return results;
}

async function runStep<Row>(connection: Connection, step: Step): Promise<QueryResult<Row>> {
  switch (step.kind) {
    case "query":
      return connection.query<Row>(step.text, step.params);
    case "begin":
      await connection.begin();
      // A bare begin() takes the session's default level; this gives it the one that was asked for.
      await connection.query(step.afterBegin);
      return noRows();
    case "commit":
      await connection.commit();
      return noRows();
    case "rollback":
      await connection.rollback();
      return noRows();
  }
}
