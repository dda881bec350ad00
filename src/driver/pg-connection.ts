import { endsSession } from "../dialect/postgres/errors.ts";
import { asError, TransactionError } from "../errors.ts";
import { hasMethods } from "../options.ts";
import { commitRefused } from "./commit-error.ts";
import type { Connection, GuardedClient, QueryResult, Step } from "./connection.ts";
import { flushGroups } from "./flush-groups.ts";
import { guardPgClient } from "./guarded-pg-client.ts";
import { type FlushStatement, flush } from "./pg-flush.ts";
import { PgStatementNames } from "./pg-statement-names.ts";
import {
  isWireClient,
  type PgClientLike,
  type PgResultLike,
  type PgWireClient,
} from "./pg-types.ts";
import { noRows } from "./run-steps.ts";

/** How long a connection that is being destroyed may take to say goodbye, in milliseconds. */
const GOODBYE_MS = 1_000;

/** The names that each client's server session knows; they outlive a checkout. */
const statementNames = new WeakMap<PgClientLike, PgStatementNames>();

/** A client of a pg pool, checked out. */
export class PgConnection implements Connection {
  readonly database = "postgres";
  readonly destroysOnError = true;
  readonly keepsFailedTransaction = true;
  readonly client: PgClientLike;
  readonly pipeline?: (steps: readonly Step[]) => Promise<QueryResult[]>;
  /** Whether statements that ask for it get a name on the server. */
  prepares = false;
  /** What happened to the connection while it was ours; such a client is destroyed at release. */
  #broken: Error | undefined;
  #isReleased = false;
  readonly #onError = (error: Error): void => {
    this.#broken ??= error;
  };

  constructor(client: PgClientLike) {
    this.client = client;
    // While a client is checked out nobody else listens, and an error event without a listener ends
    // the process.
    client.on("error", this.#onError);
    if (isWireClient(client)) {
      this.pipeline = (steps) => this.#watched(runFlushes(client, steps, this.prepares));
    }
  }

  async query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    const answer = await this.#watched(
      params === undefined || params.length === 0
        ? this.client.query(text)
        : this.client.query(text, [...params]),
    );
    return toResult<Row>(lastOf(answer));
  }

  async begin(): Promise<void> {
    await this.#watched(this.client.query("BEGIN"));
  }

  async commit(): Promise<void> {
    checkCommit(lastOf(await this.#watched(this.client.query("COMMIT"))));
  }

  async rollback(): Promise<void> {
    await this.#watched(this.client.query("ROLLBACK"));
  }

  guardClient(open: () => Promise<void>): GuardedClient {
    return guardPgClient(this.client, open);
  }

  release(error?: Error): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const reason = error ?? this.#broken ?? leftInTransaction(this.client);
    if (reason !== undefined) {
      // Our listener stays: this client comes to nobody else, and may still have an error to tell.
      destroy(this.client, reason);
      return;
    }
    // The pool listens again from here on.
    this.client.release();
    this.client.removeListener("error", this.#onError);
  }

  /**
   * The server's last words come as the error of a query, a moment before the client knows that the
   * connection is gone; given back in that moment it would go to the next one.
   */
  async #watched<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (endsSession(error)) this.#broken ??= asError(error);
      throw error;
    }
  }
}

async function runFlushes(
  client: PgWireClient,
  steps: readonly Step[],
  prepares: boolean,
): Promise<QueryResult[]> {
  let names = statementNames.get(client);
  if (names === undefined) {
    names = new PgStatementNames(client.connection.parsedStatements);
    statementNames.set(client, names);
  }
  const results: QueryResult[] = [];
  for (const group of flushGroups(steps)) {
    const statements = group.map((step) => statementOf(step, prepares));
    const answers = await flush(client, statements, names);
    for (const [index, step] of group.entries()) {
      const answer = answers[index];
      if (step.kind === "commit") checkCommit(answer);
      results.push(step.kind === "query" && answer !== undefined ? toResult(answer) : noRows());
    }
  }
  return results;
}

function statementOf(step: Step, prepares: boolean): FlushStatement {
  switch (step.kind) {
    case "query":
      return {
        text: step.text,
        params: step.params,
        prepare: prepares && step.prepare === true,
      };
    case "begin":
      return { text: step.text, isControl: true };
    case "commit":
      return COMMIT;
    case "rollback":
      return ROLLBACK;
  }
}

const COMMIT: FlushStatement = { text: "COMMIT", isControl: true };
const ROLLBACK: FlushStatement = { text: "ROLLBACK", isControl: true };

/** A transaction that somebody forgot never goes back to the pool, where the client can tell. */
function leftInTransaction(client: PgClientLike): Error | undefined {
  if (!hasMethods(client, ["getTransactionStatus"])) return undefined;
  const status = client.getTransactionStatus();
  return status === "T" || status === "E"
    ? new TransactionError("released within a transaction")
    : undefined;
}

function checkCommit(answer: PgResultLike | undefined): void {
  if (answer?.command === "ROLLBACK") throw commitRefused();
}

/** Text of several statements has several answers; the last one counts. */
function lastOf(answer: PgResultLike | PgResultLike[]): PgResultLike {
  if (!Array.isArray(answer)) return answer;
  return answer.at(-1) ?? { rows: [], rowCount: 0 };
}

function toResult<Row>(answer: PgResultLike): QueryResult<Row> {
  // What the rows hold is the caller's word.
  return { rows: answer.rows as Row[], rowCount: answer.rowCount ?? 0 };
}

/**
 * Takes a client out of its pool. The pool says goodbye politely and waits for the other end, which on
 * a dead network never answers; so the socket is closed if that takes long.
 */
export function destroy(client: PgClientLike, reason: Error): void {
  try {
    client.release(reason);
  } catch (error) {
    throw asError(error);
  } finally {
    if (isWireClient(client)) closeSocketSoon(client);
  }
}

function closeSocketSoon(client: PgWireClient): void {
  const { stream } = client.connection;
  if (!("destroy" in stream) || typeof stream.destroy !== "function") return;
  const close = stream.destroy.bind(stream);
  const timer = setTimeout(() => void close(), GOODBYE_MS);
  timer.unref();
  client.on("end", () => clearTimeout(timer));
}
