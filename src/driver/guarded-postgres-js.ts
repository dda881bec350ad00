import { TransactionError } from "../errors.ts";
import type { GuardedClient } from "./connection.ts";
import type { PostgresJsSession } from "./postgres-js-session.ts";
import { isQuery, type PostgresJsQuery, type PostgresJsRunner } from "./postgres-js-types.ts";
import { transactionControl } from "./transaction-control.ts";

/** What of the pool's `sql` makes values or fragments and runs nothing. */
const HARMLESS = new Set([
  "json",
  "array",
  "typed",
  "types",
  "options",
  "parameters",
  "PostgresError",
]);

/**
 * The `sql` of postgres.js for a handler or its ORM, on a connection in a transaction that is not
 * theirs to end. `begin` and `savepoint` make savepoints; BEGIN, COMMIT and ROLLBACK as text are
 * refused; so is all that would leave the connection (`end`, `listen`, `reserve`...).
 *
 * @param open is awaited before the first query; it opens the transaction.
 */
export function guardPostgresJs(
  sql: PostgresJsRunner,
  session: PostgresJsSession,
  open: () => Promise<void>,
): GuardedClient {
  const guard = new SqlGuard(sql, session, open);
  return {
    client: guard.client,
    close: (reason) => guard.close(reason),
    settled: () => guard.settled(),
  };
}

type Scope = (sql: unknown) => unknown;

class SqlGuard {
  readonly client: unknown;
  readonly #sql: PostgresJsRunner;
  readonly #session: PostgresJsSession;
  readonly #open: () => Promise<void>;
  readonly #running = new Set<Promise<unknown>>();
  #isOpen = false;
  #savepoints = 0;
  #closed: Error | undefined;

  constructor(sql: PostgresJsRunner, session: PostgresJsSession, open: () => Promise<void>) {
    this.#sql = sql;
    this.#session = session;
    this.#open = open;
    this.client = this.#facade();
  }

  close(reason: Error): void {
    this.#closed ??= reason;
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  #facade(): unknown {
    const own: Record<string, unknown> = {
      unsafe: (...args: unknown[]) => this.#make(Reflect.get(this.#sql, "unsafe"), args),
      file: (...args: unknown[]) => this.#make(Reflect.get(this.#sql, "file"), args),
      begin: (...args: unknown[]) => this.#scope(args),
      savepoint: (...args: unknown[]) => this.#scope(args),
      release: () => {},
    };
    return new Proxy(
      Object.assign(() => {}, own),
      {
        apply: (_, __, args: unknown[]) => this.#make(this.#sql, args),
        get: (_, property) => {
          if (typeof property === "string" && Object.hasOwn(own, property)) return own[property];
          const value: unknown = Reflect.get(this.#sql, property);
          if (typeof value !== "function" || HARMLESS.has(String(property))) return value;
          return () => {
            throw new TransactionError(`sql.${String(property)} is refused within a transaction`);
          };
        },
      },
    );
  }

  /** A query of the pool's `sql`, made to run here; fragments and identifiers pass as they are. */
  #make(make: unknown, args: unknown[]): unknown {
    if (typeof make !== "function") throw new TypeError("this postgres.js has no such function");
    const made: unknown = Reflect.apply(make, this.#sql, args);
    if (!isQuery(made)) return made;
    const refusal = refusalOf(args[0]);
    const { handler } = this.#session.adopt(made);
    made.handler = (query) => {
      if (refusal !== undefined) query.reject(refusal);
      else this.#start(query, handler);
    };
    return made;
  }

  #start(query: PostgresJsQuery, send: (query: PostgresJsQuery) => void): void {
    if (this.#closed !== undefined) {
      query.reject(this.#closed);
      return;
    }
    const settled = Promise.resolve(query).then(noValue, noValue);
    this.#running.add(settled);
    void settled.then(() => this.#running.delete(settled));
    if (this.#isOpen) {
      send(query);
      return;
    }
    this.#open().then(
      () => {
        this.#isOpen = true;
        // What was taken before the close is sent: nobody would hear of it, and the transaction commits.
        send(query);
      },
      (error: Error) => query.reject(error),
    );
  }

  async #scope(args: readonly unknown[]): Promise<unknown> {
    const run = args.find(isScope);
    if (run === undefined) throw new TypeError("takes a function that gets the sql");
    const name = `intray_${++this.#savepoints}`;
    await this.#control(`SAVEPOINT ${name}`);
    try {
      const result = run(this.client);
      const settled = await (Array.isArray(result) ? Promise.all(result) : result);
      await this.#control(`RELEASE SAVEPOINT ${name}`);
      return settled;
    } catch (error) {
      await this.#control(`ROLLBACK TO SAVEPOINT ${name}`);
      throw error;
    }
  }

  async #control(text: string): Promise<void> {
    const query = this.#make(this.#sql.unsafe, [text]);
    if (isQuery(query)) await query;
  }
}

function noValue(): void {}

function isScope(value: unknown): value is Scope {
  return typeof value === "function";
}

function refusalOf(first: unknown): TransactionError | undefined {
  const text = Array.isArray(first) ? first.join("$1") : first;
  if (typeof text !== "string") return undefined;
  const keyword = transactionControl(text);
  if (keyword === undefined) return undefined;
  return new TransactionError(
    `${keyword} is refused here: the transaction ends with the handler. Return to commit, throw to roll back; sql.savepoint nests`,
  );
}
