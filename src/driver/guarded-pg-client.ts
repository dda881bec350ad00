import { hasMethods, isObject } from "../options.ts";
import type { GuardedClient } from "./connection.ts";
import { NestedTransactions } from "./nested-transactions.ts";
import type { PgClientLike } from "./pg-types.ts";
import { findTransactionControl } from "./transaction-control.ts";

/**
 * A client of `pg` for a handler or its ORM, within a transaction that is not theirs to end: BEGIN,
 * COMMIT and ROLLBACK become savepoints, `release` and `end` do nothing, and after `close` every query
 * is refused. Queries are sent one after the other, in the order they were made.
 *
 * @param open is awaited before the first query; it opens the transaction.
 */
export function guardPgClient(client: PgClientLike, open: () => Promise<void>): GuardedClient {
  const queue = new GuardedQueue(client, open);
  return {
    client: facadeOf(client, (...args) => queue.query(args)),
    close: (reason) => queue.close(reason),
    settled: () => queue.settled(),
  };
}

type Callback = (error: unknown, result?: unknown) => void;

/** A query object: the client drives it through its methods (`pg.Query`, `pg-cursor`...). */
interface Submittable {
  text?: unknown;
  handleReadyForQuery(...args: unknown[]): unknown;
  handleError(...args: unknown[]): unknown;
}

/** A client's `query`, whichever way it is called. */
interface Querying {
  query(...args: unknown[]): unknown;
}

class GuardedQueue {
  readonly #client: PgClientLike & Querying;
  readonly #open: () => Promise<void>;
  readonly #nested = new NestedTransactions();
  readonly #submitted = new Set<Promise<void>>();
  #last: Promise<unknown> = Promise.resolve();
  #closed: Error | undefined;

  constructor(client: PgClientLike, open: () => Promise<void>) {
    if (!isQuerying(client)) throw new TypeError("the client of pg has no query method");
    this.#client = client;
    this.#open = open;
  }

  close(reason: Error): void {
    this.#closed ??= reason;
  }

  async settled(): Promise<void> {
    for (let seen: unknown; seen !== this.#last; ) {
      seen = this.#last;
      await this.#last;
      await Promise.all(this.#submitted);
    }
  }

  query(args: unknown[]): unknown {
    const [query] = args;
    if (isSubmittable(query)) return this.#submit(query, args);
    const callback = callbackOf(args);
    const result = this.#enqueue(() => this.#run(withoutCallback(args)));
    if (callback === undefined) return result;
    result.then(
      (value) => callLater(callback, null, value),
      (error: unknown) => callLater(callback, error),
    );
    return undefined;
  }

  async #run(args: readonly unknown[]): Promise<unknown> {
    const text = textOf(args[0]);
    const control = text === undefined ? undefined : findTransactionControl(text);
    if (control === undefined) return this.#client.query(...args);
    return this.#nested.control<unknown>(control, async (sql) => this.#client.query(sql));
  }

  /** A query object goes to the client itself; its end is seen by its own methods. */
  #submit(query: Submittable, args: readonly unknown[]): unknown {
    this.#enqueue(async () => {
      const control =
        typeof query.text === "string" ? findTransactionControl(query.text) : undefined;
      if (control === undefined) {
        // Not awaited here: a cursor ends when its owner has read it, by more queries perhaps.
        void this.#send(query, args);
        return;
      }
      let wasSent = false;
      await this.#nested.control(control, async (sql) => {
        // The object can be submitted once; a rollback's second statement goes by itself.
        if (wasSent) {
          await this.#client.query(sql);
          return;
        }
        wasSent = true;
        query.text = sql;
        await this.#send(query, args);
      });
    }).catch((error: unknown) => query.handleError(error, Reflect.get(this.#client, "connection")));
    return query;
  }

  /** Resolves when the query object is done, with or without an error of its own. */
  #send(query: Submittable, args: readonly unknown[]): Promise<void> {
    const done = untilDone(query);
    this.#submitted.add(done);
    void done.then(() => this.#submitted.delete(done));
    void this.#client.query(...args);
    return done;
  }

  #enqueue<T>(run: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) {
      const refusal = Promise.reject(this.#closed);
      // Nobody may be waiting for it, and that must end no process.
      refusal.catch(() => {});
      return refusal;
    }
    // What was taken before the close is sent: nobody would hear of it, and the transaction commits.
    const result = this.#last.then(async () => {
      await this.#open();
      return run();
    });
    this.#last = result.catch(() => {});
    return result;
  }
}

function untilDone(query: Submittable): Promise<void> {
  return new Promise((resolve) => {
    for (const method of ["handleReadyForQuery", "handleError"] as const) {
      const original = query[method];
      query[method] = (...args: unknown[]) => {
        resolve();
        return Reflect.apply(original, query, args);
      };
    }
  });
}

/** The client as it is, with other `query`, `release`, `end` and `connect`; what is set stays here. */
function facadeOf(client: PgClientLike, query: (...args: unknown[]) => unknown): unknown {
  const own: Record<PropertyKey, unknown> = Object.assign(
    Object.create(Object.getPrototypeOf(client)),
    {
      query,
      release: () => {},
      end: (callback?: () => void) => endNothing(callback),
      connect: (callback?: (error: null, client: unknown) => void) => {
        if (callback === undefined) return Promise.resolve(facade);
        callLater(() => callback(null, facade));
        return undefined;
      },
    },
  );
  const facade: object = new Proxy(own, {
    get(_, property) {
      if (Object.hasOwn(own, property)) return own[property];
      const value: unknown = Reflect.get(client, property, client);
      return typeof value === "function" && property !== "constructor" ? value.bind(client) : value;
    },
    has: (_, property) => property in own || property in client,
  });
  return facade;
}

function endNothing(callback?: () => void): Promise<void> | undefined {
  if (callback === undefined) return Promise.resolve();
  callLater(callback);
  return undefined;
}

/** Outside of our promises, so that what a callback throws is its owner's uncaught error. */
function callLater<Args extends unknown[]>(callback: (...args: Args) => void, ...args: Args): void {
  process.nextTick(() => callback(...args));
}

function isQuerying(client: object): client is PgClientLike & Querying {
  return hasMethods(client, ["query", "release", "on"]);
}

function isSubmittable(value: unknown): value is Submittable {
  return hasMethods(value, ["submit", "handleReadyForQuery", "handleError"]);
}

function textOf(query: unknown): string | undefined {
  if (typeof query === "string") return query;
  if (!isObject(query) || !("text" in query)) return undefined;
  return typeof query.text === "string" ? query.text : undefined;
}

function callbackOf(args: readonly unknown[]): Callback | undefined {
  const candidates = [
    ...args.slice(1),
    isObject(args[0]) ? Reflect.get(args[0], "callback") : undefined,
  ];
  return candidates.find(isCallback);
}

function isCallback(value: unknown): value is Callback {
  return typeof value === "function";
}

function withoutCallback(args: readonly unknown[]): unknown[] {
  const [query, ...rest] = args.filter((arg) => !isCallback(arg));
  if (!isObject(query) || !("callback" in query)) return [query, ...rest];
  return [{ ...query, callback: undefined }, ...rest];
}
