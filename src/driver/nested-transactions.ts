import { TransactionError } from "../errors.ts";
import type { TransactionControl } from "./transaction-control.ts";

/** What stands for a nested transaction's begin, commit and rollback: what each runs, in order, at least one. */
export interface SavepointWords {
  set(name: string): string;
  release(name: string): string;
  rollback(name: string): readonly [string, ...string[]];
}

const STANDARD: SavepointWords = {
  set: (name) => `SAVEPOINT ${name}`,
  release: (name) => `RELEASE SAVEPOINT ${name}`,
  rollback: (name) => [`ROLLBACK TO SAVEPOINT ${name}`, `RELEASE SAVEPOINT ${name}`],
};

/**
 * An ORM's transactions within one that is open already: its BEGIN, COMMIT and ROLLBACK become a
 * savepoint, its release and a rollback to it, nested as deep as it likes. The outer transaction is
 * out of its reach.
 */
export class NestedTransactions {
  readonly #words: SavepointWords;
  readonly #savepoints: string[] = [];
  #made = 0;

  constructor(words: SavepointWords = STANDARD) {
    this.#words = words;
  }

  /**
   * Runs what stands for the statement, through `run`, and answers its first result.
   *
   * @throws TransactionError for a statement that would end the outer transaction.
   */
  async control<Result>(
    control: TransactionControl,
    run: (text: string) => Promise<Result>,
  ): Promise<Result> {
    if (!control.isAlone) throw refused(control, "send it as a statement of its own");
    if (control.kind === "prepare" || control.chains) {
      throw refused(control, "a nested transaction cannot do that");
    }
    if (control.kind === "begin") {
      const savepoint = `intray_${++this.#made}`;
      const result = await run(this.#words.set(savepoint));
      this.#savepoints.push(savepoint);
      return result;
    }
    const savepoint = this.#savepoints.at(-1);
    if (savepoint === undefined) {
      throw refused(
        control,
        "the transaction ends with the handler: return to commit, throw to roll back",
      );
    }
    if (control.kind === "commit") {
      const result = await run(this.#words.release(savepoint));
      this.#savepoints.pop();
      return result;
    }
    const [first, ...rest] = this.#words.rollback(savepoint);
    const result = await run(first);
    this.#savepoints.pop();
    for (const text of rest) await run(text);
    return result;
  }
}

function refused(control: TransactionControl, why: string): TransactionError {
  return new TransactionError(`${control.keyword} is refused here: ${why}`);
}
