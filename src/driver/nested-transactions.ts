import { TransactionError } from "../errors.ts";
import type { TransactionControl } from "./transaction-control.ts";

/**
 * An ORM's transactions within one that is open already: its BEGIN, COMMIT and ROLLBACK become a
 * savepoint, its release and a rollback to it, nested as deep as it likes. The outer transaction is
 * out of its reach.
 */
export class NestedTransactions {
  readonly #savepoints: string[] = [];
  #made = 0;

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
      const result = await run(`SAVEPOINT ${savepoint}`);
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
      const result = await run(`RELEASE SAVEPOINT ${savepoint}`);
      this.#savepoints.pop();
      return result;
    }
    const result = await run(`ROLLBACK TO SAVEPOINT ${savepoint}`);
    this.#savepoints.pop();
    await run(`RELEASE SAVEPOINT ${savepoint}`);
    return result;
  }
}

function refused(control: TransactionControl, why: string): TransactionError {
  return new TransactionError(`${control.keyword} is refused here: ${why}`);
}
