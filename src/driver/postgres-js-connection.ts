import { TransactionError } from "../errors.ts";
import { commitRefused } from "./commit-error.ts";
import type { Connection, GuardedClient, QueryResult, StatementStep, Step } from "./connection.ts";
import { guardPostgresJs } from "./guarded-postgres-js.ts";
import type { PostgresJsAnswers, PostgresJsSession } from "./postgres-js-session.ts";
import type { PostgresJsAnswer, PostgresJsRunner } from "./postgres-js-types.ts";
import { noRows } from "./run-steps.ts";
import { textParameter } from "./text-parameter.ts";
import { findTransactionControl } from "./transaction-control.ts";

/** PostgreSQL's type `unknown`: the server takes the type from the statement, and nobody encodes. */
const UNKNOWN_OID = 705;

/** The protocol counts parameters in 16 bits, and postgres.js takes two fewer. */
const MOST_PARAMETERS = 65_533;

/** A connection of postgres.js as a {@link Connection}. */
export class PostgresJsConnection implements Connection {
  readonly database = "postgres";
  readonly destroysOnError = true;
  readonly #sql: PostgresJsRunner;
  readonly #session: PostgresJsSession;
  readonly #parameterType: unknown;
  /** Whether a transaction is open; `unknown` once a text took it in its own hands. */
  #transaction: "none" | "open" | "unknown" = "none";
  #isReleased = false;

  constructor(sql: PostgresJsRunner, session: PostgresJsSession) {
    this.#sql = sql;
    this.#session = session;
    this.#parameterType = Object.getPrototypeOf(sql.typed(null, UNKNOWN_OID));
  }

  async query<Row = Record<string, unknown>>(
    text: string,
    params: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    const texts = this.#parameters(params);
    const control = findTransactionControl(text);
    if (control !== undefined) this.#transaction = "unknown";
    return toResult<Row>(lastOf(await this.#session.run(text, texts, {})));
  }

  async begin(): Promise<void> {
    await this.#begin("BEGIN");
  }

  async commit(): Promise<void> {
    checkCommit(await this.#sendCommit());
  }

  async rollback(): Promise<void> {
    // The library prints the notice that a ROLLBACK outside a transaction gets.
    if (this.#transaction === "none") return;
    await this.#session.run("ROLLBACK", [], {});
    this.#transaction = "none";
  }

  /**
   * The library gives each query its own Sync, so what follows a failed query is skipped only in an
   * open transaction, which the failure aborts. Hence BEGIN is awaited, then everything up to COMMIT
   * is sent at once (an aborted transaction answers COMMIT with ROLLBACK), and nothing after a COMMIT
   * is sent before its answer.
   */
  async pipeline(steps: readonly Step[]): Promise<QueryResult[]> {
    // Before anything is sent: a value that does not convert must stop all that comes after it.
    const prepared = steps.map((step) =>
      step.kind === "query" ? { step, params: this.#parameters(step.params ?? []) } : { step },
    );
    const results: QueryResult[] = [];
    let batch: Promise<QueryResult>[] = [];
    const finishBatch = async () => {
      const sent = batch;
      batch = [];
      results.push(...(await allInOrder(sent)));
    };
    for (const { step, params = [] } of prepared) {
      if (step.kind === "query") {
        const mayShare = this.#transaction === "open" && !mayRollBack(step.text);
        if (!mayShare) await finishBatch();
        batch.push(this.#runStatement(step, params));
        if (!mayShare) await finishBatch();
      } else if (step.kind === "commit" && batch.length > 0) {
        const committed = this.#sendCommit();
        batch.push(committed.then(noRows));
        await finishBatch();
        checkCommit(await committed);
      } else {
        await finishBatch();
        await this.#control(step);
        results.push(noRows());
      }
    }
    await finishBatch();
    return results;
  }

  guardClient(open: () => Promise<void>): GuardedClient {
    return guardPostgresJs(this.#sql, this.#session, open);
  }

  async release(error?: Error): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    if (error !== undefined) await this.#session.destroy(error);
    else if (this.#transaction === "open" || this.#session.isBusy) {
      await this.#session.destroy(new TransactionError("released in the middle of its work"));
    } else this.#session.release();
  }

  async #begin(text: string): Promise<void> {
    await this.#session.run(text, [], {});
    this.#transaction = "open";
  }

  async #sendCommit(): Promise<PostgresJsAnswer> {
    try {
      return lastOf(await this.#session.run("COMMIT", [], {}));
    } finally {
      // Committed or not, it is over: an error in COMMIT rolls back.
      this.#transaction = "none";
    }
  }

  async #control(step: Exclude<Step, StatementStep>): Promise<void> {
    switch (step.kind) {
      case "begin":
        return this.#begin(step.text);
      case "commit":
        return this.commit();
      case "rollback":
        return this.rollback();
    }
  }

  async #runStatement(step: StatementStep, params: readonly unknown[]): Promise<QueryResult> {
    if (findTransactionControl(step.text) !== undefined) this.#transaction = "unknown";
    const options = step.prepare === true ? { prepare: true, simple: false } : {};
    return toResult(lastOf(await this.#session.run(step.text, params, options)));
  }

  #parameters(params: readonly unknown[]): unknown[] {
    if (params.length > MOST_PARAMETERS) {
      throw new RangeError(
        `a statement has ${params.length} parameters; postgres.js takes at most ${MOST_PARAMETERS}`,
      );
    }
    return params.map((value, index) => this.#parameter(value, index + 1));
  }

  /** A value that the service typed itself (`sql.json(...)`, `sql.typed(...)`) is the library's. */
  #parameter(value: unknown, position: number): unknown {
    if (typeof value === "object" && value !== null) {
      if (Object.getPrototypeOf(value) === this.#parameterType) return value;
    }
    const text = textParameter(value, position);
    return text === null ? null : this.#sql.typed(text, UNKNOWN_OID);
  }
}

/** All answers, or the first error in order of the steps, once none is under way any more. */
async function allInOrder(sent: readonly Promise<QueryResult>[]): Promise<QueryResult[]> {
  const results: QueryResult[] = [];
  for (const answer of await Promise.allSettled(sent)) {
    if (answer.status === "rejected") throw answer.reason;
    results.push(answer.value);
  }
  return results;
}

/** `ROLLBACK TO` revives an aborted transaction, so nothing may have been sent behind it. */
function mayRollBack(text: string): boolean {
  return /rollback|abort/i.test(text);
}

function checkCommit(answer: PostgresJsAnswer): void {
  if (answer.command === "ROLLBACK") throw commitRefused();
}

/** Text of several statements has several answers; the last one counts. */
function lastOf(answer: PostgresJsAnswers): PostgresJsAnswer {
  if ("command" in answer) return answer;
  const last = answer.at(-1);
  return last ?? Object.assign([], { command: null, count: 0 });
}

function toResult<Row>(answer: PostgresJsAnswer): QueryResult<Row> {
  // A plain array; what the rows hold is the caller's word.
  return { rows: Array.from(answer) as Row[], rowCount: answer.count ?? answer.length };
}
