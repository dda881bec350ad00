/** A statement as data: what a dialect builds once and a form runs again and again. */
export interface Statement {
  readonly text: string;
  /** The names of the positional parameters, in order; {@link bind} puts the values in their places. */
  readonly params: readonly string[];
}
