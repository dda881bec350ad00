import { TransactionError } from "../errors.ts";
import { hasMethods, isObject } from "../options.ts";
import type { GuardedClient } from "./connection.ts";
import {
  type MssqlRequest,
  type MssqlSession,
  makeRequest,
  type RequestParent,
  type TediousConnection,
} from "./mssql-session.ts";
import { NestedTransactions, type SavepointWords } from "./nested-transactions.ts";
import { findTransactionControl, type TransactionControl } from "./transaction-control.ts";

/**
 * What a handler has for a transaction of `mssql`: `new sql.Request(client)` or `client.request()` runs in it, one
 * request after the other. Transactions that are begun on it are savepoints.
 */
export interface GuardedMssqlTransaction extends RequestParent {
  request(): MssqlRequest;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** T-SQL has no word to release a savepoint, and a BEGIN within a transaction only counts. */
const SAVE_TRANSACTION: SavepointWords = {
  set: (name) => `SAVE TRANSACTION ${name}`,
  release: (name) => `DECLARE @${name} bit`,
  rollback: (name) => [`ROLLBACK TRANSACTION ${name}`],
};

/**
 * The handler's transaction as one of `mssql`: its requests, and nothing that ends the transaction or gives the
 * connection back. A request asks for the connection and says when it is done with it; in between nobody else
 * has it: requests and `tx.query` go in the order in which they ask for it.
 */
export function guardMssqlClient(
  session: MssqlSession,
  open: () => Promise<void>,
): GuardedClient & { readonly client: GuardedMssqlTransaction } {
  const { config, mssql, requestTimeout } = session.settings;
  const nested = new NestedTransactions(SAVE_TRANSACTION);
  const connection = guardedConnection(session, nested);
  let closed: Error | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let done: (() => void) | undefined;

  /** What was taken before the end still runs. */
  const inOrder = <T>(send: () => Promise<T>): Promise<T> => {
    if (closed !== undefined) return Promise.reject(closed);
    const answer = last.then(open).then(send);
    last = answer.catch(() => {});
    return answer;
  };

  const lend = async (callback: Parameters<RequestParent["acquire"]>[1]): Promise<void> => {
    const end = await session.turn();
    const refusal = session.refusal();
    if (refusal !== undefined) {
      end();
      callback(refusal);
      return;
    }
    const over = new Promise<void>((resolve) => {
      done = resolve;
    });
    // What it throws is nobody's here.
    queueMicrotask(() => callback(null, connection, config));
    await over.finally(end);
  };

  const word = (kind: TransactionControl["kind"], keyword: string) => async () => {
    const control = { kind, keyword, isAlone: true, chains: false };
    await inOrder(() => nested.control(control, (text) => session.run(text)));
  };

  const client: GuardedMssqlTransaction = Object.freeze({
    config,
    connected: true,
    acquire(requester, callback) {
      if (hasMethods(requester, ["prepare", "unprepare"])) {
        callback(
          new TransactionError(
            "a PreparedStatement is refused here: it would keep the connection, and nothing else could run in the transaction. A request's parameters are enough.",
          ),
        );
        return client;
      }
      inOrder(() => lend(callback)).catch(callback);
      return client;
    },
    release() {
      done?.();
      done = undefined;
      return client;
    },
    request: () => makeRequest(mssql, client, requestTimeout),
    begin: word("begin", "BEGIN"),
    commit: word("commit", "COMMIT"),
    rollback: word("rollback", "ROLLBACK"),
  } satisfies GuardedMssqlTransaction);

  return {
    client,
    close(reason) {
      closed ??= reason;
    },
    async settled() {
      await last;
    },
  };
}

/** A request of `tedious`, as `mssql` makes it. */
interface TediousRequest {
  sqlTextOrProcedure: unknown;
  callback(error: unknown, ...rest: unknown[]): void;
}

function isTediousRequest(value: unknown): value is TediousRequest {
  return hasMethods(value, ["callback"]) && "sqlTextOrProcedure" in value;
}

/** What requests do with a connection, each looked at before it is sent. */
function guardedConnection(session: MssqlSession, nested: NestedTransactions): object {
  const { connection } = session;
  const send = (name: string) => (request: unknown) => {
    if (!isTediousRequest(request)) throw new TransactionError("takes a request of mssql");
    onceAnswered(request, (error) => {
      if (isObject(error)) session.failed(error);
    });
    const text = typeof request.sqlTextOrProcedure === "string" ? request.sqlTextOrProcedure : "";
    const control = name === "callProcedure" ? undefined : findTransactionControl(text);
    if (control === undefined) call(connection, name, [request]);
    else void asSavepoint(connection, nested, control, request);
  };
  return Object.freeze({
    on: connection.on.bind(connection),
    removeListener: connection.removeListener.bind(connection),
    execSql: send("execSql"),
    execSqlBatch: send("execSqlBatch"),
    callProcedure: send("callProcedure"),
    newBulkLoad: (...args: readonly unknown[]) => call(connection, "newBulkLoad", args),
    execBulkLoad: (...args: readonly unknown[]) => call(connection, "execBulkLoad", args),
    cancel: () => call(connection, "cancel", []),
  });
}

/** Sends what stands for the statement; where that is refused, the request is answered with why. */
async function asSavepoint(
  connection: TediousConnection,
  nested: NestedTransactions,
  control: TransactionControl,
  request: TediousRequest,
): Promise<void> {
  let isSent = false;
  try {
    await nested.control(control, (text) => {
      isSent = true;
      return new Promise<void>((resolve, reject) => {
        request.sqlTextOrProcedure = text;
        onceAnswered(request, (error) => (isObject(error) ? reject(error) : resolve()));
        connection.execSqlBatch(request);
      });
    });
  } catch (error) {
    if (!isSent) request.callback(error);
  }
}

/** Looks at an answer before the one who waits for it. */
function onceAnswered(request: TediousRequest, look: (error: unknown) => void): void {
  const answered = request.callback.bind(request);
  request.callback = (error, ...rest) => {
    look(error);
    answered(error, ...rest);
  };
}

function call(target: object, name: string, args: readonly unknown[]): unknown {
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== "function") throw new TransactionError(`the driver has no ${name}`);
  return Reflect.apply(method, target, [...args]);
}
