import { isObject } from "../options.ts";
import type { Connection, QueryResult, StatementStep, Step } from "./connection.ts";

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
  const at = steps.findIndex((step) => step.kind === "query" && step.program !== undefined);
  const step = steps[at];
  if (step?.kind !== "query") return await runTogether<Row>(connection, steps);
  const before = await runSteps<Row>(connection, steps.slice(0, at));
  const result = await runProgram<Row>(step, (each) => runSteps(connection, [each]));
  return [...before, result, ...(await runSteps<Row>(connection, steps.slice(at + 1)))];
}

async function runTogether<Row>(
  connection: Connection,
  steps: readonly Step[],
): Promise<QueryResult<Row>[]> {
  if (!steps.some(isCompound)) return await runSimple<Row>(connection, steps);
  const results = await runSimple<Row>(connection, steps.flatMap(simpleSteps));
  return answersOf(steps, results);
}

/** Runs a step's program: one statement after the other, each made of what the last one answered. */
export async function runProgram<Row>(
  { program }: StatementStep,
  run: (step: StatementStep) => Promise<readonly QueryResult[]>,
): Promise<QueryResult<Row>> {
  const running = program?.run();
  let next = running?.next();
  while (running !== undefined && next?.done === false) {
    const [result = noRows()] = await run(next.value);
    next = running.next(result);
  }
  const rows = next?.done === true ? next.value : [];
  // What the rows hold is the caller's word.
  return { rows: [...rows] as Row[], rowCount: rows.length };
}

function runSimple<Row>(
  connection: Connection,
  steps: readonly Step[],
): Promise<QueryResult<Row>[]> {
  if (connection.pipeline === undefined) return runOneByOne<Row>(connection, steps);
  // What the rows hold is the caller's word, here as in `query`.
  return connection.pipeline(steps) as Promise<QueryResult<Row>[]>;
}

/** Whether the step is several statements, which belong into one transaction. */
export function hasParts(step: StatementStep): boolean {
  if (step.program !== undefined) return !step.program.isSingle;
  return step.before !== undefined || step.after !== undefined;
}

function isCompound(step: Step): boolean {
  if (step.kind !== "query") return false;
  return step.before !== undefined || step.after !== undefined || step.order !== undefined;
}

/** A step as the statements that it is made of, in their order. */
export function partsOf(step: StatementStep): readonly StatementStep[] {
  if (step.before === undefined && step.after === undefined) return [step];
  const { after = [], before = [], ...statement } = step;
  return [...before.flatMap(partsOf), statement, ...after.flatMap(partsOf)];
}

function simpleSteps(step: Step): readonly Step[] {
  return step.kind === "query" ? partsOf(step) : [step];
}

/** The answers of the steps themselves, of those that {@link partsOf} made of them. */
export function answersOf<Row>(
  steps: readonly Step[],
  results: readonly QueryResult<Row>[],
): QueryResult<Row>[] {
  let at = 0;
  return steps.map((step) => {
    const place = at + (step.kind === "query" ? (step.before ?? []).flatMap(partsOf).length : 0);
    at += simpleSteps(step).length;
    const result = results[place] ?? noRows();
    if (step.kind !== "query" || step.order === undefined) return result;
    const order = step.order.bind(step);
    return { ...result, rows: result.rows.toSorted((a, b) => order(cells(a), cells(b))) };
  });
}

function cells(row: unknown): Readonly<Record<string, unknown>> {
  return isObject(row) ? row : {};
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
      // A bare begin() takes the session's default level; these give it the one that was asked for.
      if (step.beforeBegin !== undefined) await connection.query(step.beforeBegin);
      await connection.begin();
      if (step.afterBegin !== undefined) await connection.query(step.afterBegin);
      return noRows();
    case "commit":
      await connection.commit();
      return noRows();
    case "rollback":
      await connection.rollback();
      return noRows();
  }
}
