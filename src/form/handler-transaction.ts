import type { DialectErrors } from "../dialect/errors.ts";
import type {
  Connection,
  GuardedClient,
  QueryResult,
  StatementStep,
  Step,
} from "../driver/connection.ts";
import { runSteps } from "../driver/run-steps.ts";
import { splitStatements } from "../driver/sql-words.ts";
import { transactionControl } from "../driver/transaction-control.ts";
import { TransactionError, transactionRolledBack } from "../errors.ts";
import { isObject } from "../options.ts";

/**
 * A handler's view of its transaction: queries, and nothing that could end it.
 *
 *     unopened --first query--> open --end--> ended     takes no more queries, runs those it has
 *                                  \--cut--> cut        runs nothing more
 *
 * BEGIN travels with the first query in one flush where the connection pipelines, so a handler pays
 * no round trip for it; the step rule of a pipeline (nothing runs after a failed BEGIN) is what makes
 * that safe. Queries go out one after the other, in the order they were made: un-awaited ones are
 * known, and waited for at the end.
 */
export class HandlerTransaction {
  readonly #connection: Connection;
  readonly #begin: Step;
  readonly #placeholder: (position: number) => string;
  readonly #prepare: boolean;
  readonly #identify: StatementStep | undefined;
  readonly #mark: StatementStep | undefined;
  readonly #endsTransaction: (error: unknown) => boolean;
  #isOpen: boolean;
  #id: string | undefined;
  /** No more queries are taken. */
  #isOver = false;
  /** Why those that were taken and not sent are refused too. */
  #cut: Error | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #firstFailure: unknown;
  #unseenFailure: unknown;
  #rolledBackBy: unknown;
  #guarded: GuardedClient | undefined;

  constructor(connection: Connection, settings: HandlerTransactionSettings) {
    this.#connection = connection;
    this.#begin = settings.begin;
    this.#placeholder = settings.placeholder;
    this.#prepare = settings.prepare;
    this.#identify = settings.identify;
    this.#mark = settings.mark;
    this.#endsTransaction = (error) => settings.errors.endsTransaction?.(error) ?? false;
    this.#isOpen = settings.isOpen ?? false;
  }

  /** What the handler gets. An object of its own, so that nothing else is within reach. */
  get facade(): HandlerFacade {
    return new Facade(
      (text, params) => this.#query(text, params),
      () => this.#client(),
      this.#placeholder,
    );
  }

  /**
   * What goes before the next statement: BEGIN, unless it was sent. From then on the transaction
   * counts as open, and is for the caller to commit or roll back.
   */
  openingSteps(): readonly Step[] {
    if (this.#isOpen) return [];
    this.#isOpen = true;
    return [this.#begin, this.#identify, this.#mark].filter((step) => step !== undefined);
  }

  /** Whether BEGIN was sent. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The transaction's own id, where it is asked for and was answered before the handler ended. */
  get id(): string | undefined {
    return this.#id;
  }

  /**
   * What has rolled the transaction back in the handler's hands, where an error can do that: no query runs any
   * more, as it would run outside of it.
   */
  get rolledBackBy(): unknown {
    return this.#rolledBackBy ?? this.#guarded?.rolledBackBy;
  }

  /** The first query that failed: where the database aborts transactions, the cause of what follows. */
  get firstFailure(): unknown {
    return this.#firstFailure;
  }

  /**
   * A query that failed when the handler was over: nobody has seen it, and where the database does not abort
   * the transaction, what is left of it would commit.
   */
  get unseenFailure(): unknown {
    return this.#unseenFailure;
  }

  /** Opens the transaction before the handler starts, with statements that come first in it. */
  async openWith(steps: readonly Step[]): Promise<void> {
    await this.#runOpened(steps);
  }

  /**
   * A bare client that is handed out cannot wait for a BEGIN to come: on a connection with one the
   * transaction is opened before the handler starts.
   */
  async openForBareClient(): Promise<void> {
    const { client, guardClient } = this.#connection;
    if (client !== undefined && guardClient === undefined) await this.#open();
  }

  /** The handler is over: new queries are refused; what it sent before still runs. */
  end(): void {
    this.#isOver = true;
    this.#guarded?.close(handlerIsOver());
  }

  /** The handler has lost its right to the row: nothing runs any more. */
  cut(reason: Error): void {
    this.#cut ??= reason;
    this.#guarded?.close(reason);
  }

  /** Resolves when no query of the handler is under way. */
  async settled(): Promise<void> {
    await this.#last;
    await this.#guarded?.settled();
  }

  #query<Row>(text: string, params: readonly unknown[] = []): Promise<QueryResult<Row>> {
    if (typeof text !== "string") {
      return refused(new TypeError(`tx.query takes SQL text first, not ${typeof text}`));
    }
    if (!Array.isArray(params)) {
      return refused(new TypeError("tx.query takes an array of parameters second"));
    }
    const control = transactionControl(text, this.#connection.database);
    if (control !== undefined) {
      return refused(
        new TransactionError(
          `${control} is refused here: the transaction ends with the handler. Return to commit, throw to roll back.`,
        ),
      );
    }
    const refusal = this.#refusal();
    if (refusal !== undefined) return refused(refusal);
    return this.#enqueue(() => this.#run<Row>(text, params));
  }

  #refusal(): Error | undefined {
    return this.#lost() ?? (this.#isOver ? handlerIsOver() : undefined);
  }

  /** Why nothing runs any more: an ORM's statement may have lost the transaction, too. */
  #lost(): Error | undefined {
    const by = this.#guarded?.rolledBackBy;
    if (by !== undefined) this.#cut ??= transactionRolledBack(by);
    return this.#cut;
  }

  async #run<Row>(text: string, params: readonly unknown[]): Promise<QueryResult<Row>> {
    const lost = this.#lost();
    if (lost !== undefined) throw lost;
    // Text of several statements goes by the simple protocol, which only a plain query speaks.
    const isPlain = params.length === 0 && text.includes(";") && splitStatements(text).length > 1;
    if (isPlain) await this.#open();
    if (isPlain || (this.#isOpen && !this.#prepare)) {
      return this.#connection.query<Row>(text, params);
    }
    const step: Step = { kind: "query", text, params, prepare: this.#prepare };
    const result = (await this.#runOpened<Row>([step])).at(-1);
    if (result === undefined) throw new TransactionError("the connection answered too few results");
    return result;
  }

  async #open(): Promise<void> {
    if (this.#cut !== undefined) throw this.#cut;
    await this.#runOpened([]);
  }

  /** Runs steps, behind those that open the transaction where it is not open. */
  async #runOpened<Row>(steps: readonly Step[]): Promise<QueryResult<Row>[]> {
    const opening = this.openingSteps();
    const results = await runSteps<Row>(this.#connection, [...opening, ...steps]);
    if (this.#identify !== undefined && opening.length > 0) this.#id = idIn(results[1]);
    return results;
  }

  /** Runs something after all that was asked for before. */
  #enqueue<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#last.then(run);
    this.#last = result.catch((error: unknown) => {
      if (this.#rolledBackBy === undefined && this.#endsTransaction(error)) {
        this.#rolledBackBy = error;
        this.cut(transactionRolledBack(error));
      }
      this.#firstFailure ??= error;
      if (this.#isOver) this.#unseenFailure ??= error;
    });
    return result;
  }

  #client(): unknown {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    if (this.#connection.guardClient === undefined) return this.#connection.client;
    this.#guarded ??= this.#connection.guardClient(() => this.#enqueue(() => this.#open()));
    return this.#guarded.client;
  }
}

export interface HandlerTransactionSettings {
  readonly begin: Step;
  readonly placeholder: (position: number) => string;
  /** The handler's statements come again and again, and are worth preparing. */
  readonly prepare: boolean;
  readonly errors: DialectErrors;
  /** Goes behind BEGIN; see the dialects' `mark`. */
  readonly mark?: StatementStep | undefined;
  /** The transaction is open already. Default false. */
  readonly isOpen?: boolean;
  /** Goes right behind BEGIN and answers `id`: by it the database tells later what became of it. */
  readonly identify?: StatementStep | undefined;
}

function idIn(result: QueryResult<unknown> | undefined): string | undefined {
  const row = result?.rows[0];
  return isObject(row) && typeof row.id === "string" ? row.id : undefined;
}

function handlerIsOver(): TransactionError {
  return new TransactionError("the handler has ended: its transaction takes no more queries");
}

/** A rejection that ends no process when a handler does not await it. */
function refused(error: Error): Promise<never> {
  const rejection = Promise.reject(error);
  rejection.catch(() => {});
  return rejection;
}

/** Runs SQL written as a template; every value is bound. */
export type TemplateQuery = <Row = Record<string, unknown>>(
  strings: TemplateStringsArray,
  ...values: readonly unknown[]
) => Promise<QueryResult<Row>>;

export interface HandlerFacade {
  query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<QueryResult<Row>>;
  readonly sql: TemplateQuery;
  readonly client: unknown;
}

class Facade implements HandlerFacade {
  // Own properties and arrow functions: handlers take them apart, `const { query } = tx`.
  readonly query: HandlerFacade["query"];
  readonly sql: TemplateQuery;
  readonly #client: () => unknown;

  constructor(
    query: HandlerFacade["query"],
    client: () => unknown,
    placeholder: (position: number) => string,
  ) {
    this.query = query;
    this.sql = (strings, ...values) => {
      if (strings.includes(undefined as never)) {
        return refused(
          new TypeError("tx.sql: the template holds an escape that JavaScript cannot read"),
        );
      }
      const text = strings.reduce((sql, part, index) => `${sql}${placeholder(index)}${part}`);
      return query(text, values);
    };
    this.#client = client;
    Object.freeze(this);
  }

  get client(): unknown {
    return this.#client();
  }
}
