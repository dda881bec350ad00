import { endsTransaction } from "../dialect/mysql/errors.ts";
import { TransactionError, transactionRolledBack } from "../errors.ts";
import { hasMethods } from "../options.ts";
import type { GuardedClient } from "./connection.ts";
import { NestedTransactions } from "./nested-transactions.ts";
import { findTransactionControl, type TransactionControl } from "./transaction-control.ts";

/** What of a connection of mysql2 or mariadb a handler may use. */
export interface GuardableMysqlClient {
  // biome-ignore lint/suspicious/noExplicitAny: the drivers overload both in ways that no one type fits
  query(...args: any[]): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  execute(...args: any[]): Promise<any>;
}

/** The same, with transactions that nest and a release that does nothing. */
export interface GuardedMysqlClient extends GuardableMysqlClient {
  /** The package whose answers it gives. */
  readonly driver: "mysql2" | "mariadb";
  beginTransaction(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  release(): void;
}

/** What is around a guarded client's queries. */
export interface MysqlGuard {
  open(): Promise<void>;
  /** Finds out what an error has undone. */
  explored(error: unknown): Promise<void>;
  /** The answer, unless the connection is given up before. */
  sent<T>(text: string, answer: Promise<T>): Promise<T>;
}

/**
 * A connection for a handler: the same queries, and nothing that ends the transaction or gives the connection
 * back. Transactions in it become savepoints.
 */
export function guardMysqlClient(
  target: GuardableMysqlClient,
  { open, explored, sent }: MysqlGuard,
): GuardedClient & { readonly client: GuardedMysqlClient } {
  const nested = new NestedTransactions();
  let closed: Error | undefined;
  let rolledBackBy: unknown;
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = <T>(send: () => Promise<T>): Promise<T> => {
    if (closed !== undefined) return Promise.reject(closed);
    // What was taken before the end still runs, unless its transaction is gone.
    const answer = last.then(open).then(() => {
      if (rolledBackBy !== undefined) throw transactionRolledBack(rolledBackBy);
      return send();
    });
    last = answer.catch(async (error: unknown) => {
      await explored(error);
      if (rolledBackBy === undefined && endsTransaction(error)) rolledBackBy = error;
    });
    return answer;
  };
  const control = (found: TransactionControl) =>
    inOrder(() => nested.control(found, (text) => sent(text, target.query(text))));
  const run = (method: "query" | "execute", args: readonly unknown[]): Promise<unknown> => {
    const text = textOf(args[0]);
    const found = findTransactionControl(text);
    if (found !== undefined) return control(found);
    return inOrder(() => sent(text, target[method](...args)));
  };
  const word = (kind: TransactionControl["kind"], keyword: string) => async () => {
    await control({ kind, keyword, isAlone: true, chains: false });
  };
  return {
    client: Object.freeze({
      driver: hasMethods(target, ["batch"]) ? "mariadb" : "mysql2",
      query: (...args: readonly unknown[]) => run("query", args),
      execute: (...args: readonly unknown[]) => run("execute", args),
      beginTransaction: word("begin", "BEGIN"),
      commit: word("commit", "COMMIT"),
      rollback: word("rollback", "ROLLBACK"),
      release() {},
    } satisfies GuardedMysqlClient),
    get rolledBackBy() {
      return rolledBackBy;
    },
    close(reason) {
      closed ??= reason;
    },
    async settled() {
      await last;
    },
  };
}

/** Both drivers take text, or options that hold it. */
function textOf(what: unknown): string {
  if (typeof what === "string") return what;
  const sql: unknown = typeof what === "object" && what !== null ? Reflect.get(what, "sql") : "";
  if (typeof sql === "string") return sql;
  throw new TransactionError("a query takes SQL text, or options with the text as sql");
}
