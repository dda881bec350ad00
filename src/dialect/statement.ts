import type { QueryResult, StatementStep } from "../driver/connection.ts";

/** A statement as data: what a dialect builds once and a form runs again and again. */
export interface Statement {
  readonly text: string;
  /** The names of the positional parameters, in order; {@link bind} puts the values in their places. */
  readonly params: readonly string[];
  /**
   * Statements that run right before it, in one transaction with it: for databases that cannot say it all in
   * one. Only the answer of the statement itself counts.
   */
  readonly before?: readonly Statement[];
  /** The same, right behind it. */
  readonly after?: readonly Statement[];
  /** Which of two answered rows comes first, where the database answers them in no order. */
  order?(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): number;
  /** How parameters are made that are not passed as they are, by their names. */
  readonly made?: Readonly<Record<string, (values: Values) => unknown>>;
  /** What runs in place of `text`. */
  readonly program?: Program;
}

/** The values of a statement's parameters, by their names. */
export type Values = Readonly<Record<string, unknown>>;

/**
 * Several statements, of which the later ones depend on what the earlier ones answered: for databases that
 * do not say in one what they have changed.
 */
export interface Program {
  /** Each statement that may run. */
  readonly parts: readonly Statement[];
  /** These values take one statement, which needs no transaction around it. Default: none do. */
  isSingle?(values: Values): boolean;
  /** Yields statements to run, gets what they answered, and returns the rows of the whole. May throw. */
  run(values: Values): ProgramRun;
}

export type ProgramRun = Generator<
  StatementStep,
  readonly Readonly<Record<string, unknown>>[],
  QueryResult
>;
