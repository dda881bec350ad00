import { giveBack } from "../driver/checkout.ts";
import type { Connection, ConnectionSource, StatementStep, Step } from "../driver/connection.ts";
import { hasParts, runSteps } from "../driver/run-steps.ts";
import { asError } from "../errors.ts";
import type { Begin, Executor } from "./executor.ts";

/**
 * Writes on connections of a source, each given back behind what ran on it; `origin` is what they come from where the
 * source is made for this.
 */
export function sourceExecutor(source: ConnectionSource, origin: object = source): Executor {
  return {
    database: source.database,
    origin,
    runsPrograms: true,
    run: (steps, begin) =>
      onConnection(source, isSeveral(steps), (connection) => runOn(connection, steps, begin)),
    locking: (work) =>
      onConnection(source, true, (connection) => {
        const on: Executor = {
          database: source.database,
          runsPrograms: true,
          run: (steps, begin) => runOn(connection, steps, begin),
        };
        return work(on, connection.locks);
      }),
  };
}

async function runOn(connection: Connection, steps: readonly StatementStep[], begin: Begin) {
  if (!isSeveral(steps)) return await runSteps(connection, steps);
  const all: Step[] = [begin, ...steps, { kind: "commit" }];
  return (await runSteps(connection, all)).slice(1, -1);
}

function isSeveral(steps: readonly StatementStep[]): boolean {
  return steps.length > 1 || steps.some(hasParts);
}

/** `isDoubtful`: where a transaction of several steps stands that fails, nobody knows, and the connection goes with it. */
async function onConnection<T>(
  source: ConnectionSource,
  isDoubtful: boolean,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await source.connect();
  let answer: T;
  try {
    answer = await work(connection);
  } catch (error) {
    await giveBack(
      connection,
      isDoubtful || connection.destroysOnError ? asError(error) : undefined,
    );
    throw error;
  }
  await giveBack(connection);
  return answer;
}
