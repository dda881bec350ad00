import type { QueryResult, StatementStep } from "../driver/connection.ts";
import { answersOf, partsOf, runProgram } from "../driver/run-steps.ts";
import type { Begin, Executor } from "./executor.ts";

/** The same executor, for steps that are several statements. */
export function runningParts(executor: Executor): Executor {
  const { database, locking, origin } = executor;
  return {
    database,
    ...(origin && { origin }),
    run: (steps, begin) => runAll(executor, steps, begin),
    ...(locking && {
      locking: (work) => locking((on, locks) => work(runningParts(on), locks)),
    }),
  };
}

function runAll(
  executor: Executor,
  steps: readonly StatementStep[],
  begin: Begin,
): Promise<QueryResult[]> {
  if (steps.every(({ program }) => program === undefined)) {
    return runPlain(executor, steps, begin);
  }
  const run = () =>
    executor.runsPrograms === true
      ? executor.run(steps, begin)
      : runOneByOne(executor, steps, begin);
  return executor.session === undefined ? run() : inTurn(executor.session, run);
}

async function runPlain(
  executor: Executor,
  steps: readonly StatementStep[],
  begin: Begin,
): Promise<QueryResult[]> {
  return answersOf(steps, await executor.run(steps.flatMap(partsOf), begin));
}

async function runOneByOne(
  executor: Executor,
  steps: readonly StatementStep[],
  begin: Begin,
): Promise<QueryResult[]> {
  const results: QueryResult[] = [];
  for (const step of steps) {
    if (step.program === undefined) results.push(...(await runPlain(executor, [step], begin)));
    else results.push(await runProgram(step, (each) => executor.run([each], begin)));
  }
  return results;
}

/** Who writes on a session last. */
const last = new WeakMap<object, Promise<unknown>>();

/**
 * The statements of one insert are not to mix with those of another on the same session: MySQL tells only the
 * last ids that it has counted.
 */
function inTurn<T>(session: object, run: () => Promise<T>): Promise<T> {
  const before = last.get(session) ?? Promise.resolve();
  const answer = before.then(run);
  last.set(
    session,
    answer.catch(() => {}),
  );
  return answer;
}
