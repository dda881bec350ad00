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
}
