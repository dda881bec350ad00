import { IntrayError } from "../errors.ts";
import {
  isQuery,
  isWire,
  type PostgresJsAnswer,
  type PostgresJsQuery,
  type PostgresJsQueryOptions,
  type PostgresJsRunner,
  type PostgresJsWire,
} from "./postgres-js-types.ts";
import { mendUnsent, watchWrites, whenWritten } from "./postgres-js-unsent.ts";

/** How long the other end may take to close a connection that is destroyed, in milliseconds. */
const GOODBYE_MS = 1_000;

/** How often a connection is asked for again when the answer is not about this try. */
const MOST_TRIES = 5;

export type PostgresJsAnswers = PostgresJsAnswer | PostgresJsAnswer[];

/**
 * A connection of postgres.js that is held, in a transaction or not.
 *
 * The library has `sql.reserve()` for that, which cannot be built on (3.4.9): a reservation that waits
 * while any connection of the pool closes is forgotten, one that has to open a connection never comes
 * with `fetch_types: false`, one that failed swallows a connection later, queries that wait on a lost
 * connection are never answered, and releasing a lost one breaks the pool. So a connection is taken as
 * the library's own `begin` takes it: by `onexecute` of a first query, here an empty one, which the
 * pool queues and repeats like any other. Nobody waits for its answer; what follows travels with it.
 */
export class PostgresJsSession {
  readonly #sql: PostgresJsRunner;
  readonly #wire: PostgresJsWire;
  /** Queries that may not be sent before the answer to one that was. */
  readonly #waiting: PostgresJsQuery[] = [];
  #mustWait = false;
  #lost: Error | undefined;
  #tellLost = (_error: Error): void => {};
  readonly #whenLost: Promise<never>;
  readonly #closed: Promise<void>;
  #isClosed = false;

  constructor(sql: PostgresJsRunner, wire: PostgresJsWire) {
    this.#sql = sql;
    this.#wire = wire;
    this.#whenLost = new Promise((_, reject) => {
      this.#tellLost = (error) => {
        this.#lost ??= error;
        for (const query of this.#waiting.splice(0)) query.reject(error);
        reject(error);
      };
    });
    this.#whenLost.catch(() => {});
    // Off the pool's lists, and held even while no transaction is open (`release`).
    wire.queue.remove(wire);
    wire.queue = PARKED;
    wire.reserved = Object.assign(() => this.#sendNext(), { release: true });
    endOnceClosed(wire);
    watchWrites(wire);
    this.#closed = new Promise((resolve) => {
      wire.onclose = (error) => {
        this.#isClosed = true;
        mendUnsent(sql, wire);
        resolve();
        this.#tellLost(error);
      };
    });
    closings.set(wire, this.#closed);
  }

  /** Why the connection is gone, if it is. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  /** Runs a statement; rejects too when the connection is lost. */
  async run(
    text: string,
    params: readonly unknown[],
    options: PostgresJsQueryOptions,
  ): Promise<PostgresJsAnswers> {
    if (this.#lost !== undefined) throw this.#lost;
    return Promise.race([this.adopt(this.#sql.unsafe(text, params, options)), this.#whenLost]);
  }

  /** Makes a query of the pool's `sql` run on this connection. */
  adopt(query: PostgresJsQuery): PostgresJsQuery {
    const { reject } = query;
    query.reject = (error) => {
      // Its error comes before its end, and what the library is given between the two it keeps, and
      // waits for the answer on the next connection, where it never was sent.
      if (isAboutConnection(error)) this.#tellLost(error);
      reject.call(query, error);
    };
    query.handler = (started) => {
      if (this.#lost !== undefined) started.reject(this.#lost);
      else if (this.#mustWait) this.#waiting.push(started);
      else this.#send(started);
    };
    return query;
  }

  /** Whether a query waits that was never sent: somebody went on without its answer. */
  get isBusy(): boolean {
    return this.#waiting.length > 0;
  }

  /** Gives the connection back to the pool; one that is lost the library has taken back itself. */
  release(): void {
    if (this.#lost !== undefined) return;
    this.#lost = new IntrayError("RELEASED", "the connection was given back");
    closings.delete(this.#wire);
    this.#wire.onclose = () => mendUnsent(this.#sql, this.#wire);
    this.#wire.reserved = null;
    // The pool takes a connection back at the answer to a query.
    const last = this.#sql.unsafe("", [], { simple: true });
    last.handler = (started) => this.#wire.execute(started);
    last.then(
      () => {},
      () => {},
    );
  }

  /** Closes the connection; resolves when that is done, or has taken long. */
  async destroy(reason: Error): Promise<void> {
    if (this.#lost !== undefined) return;
    this.#tellLost(reason);
    const isClosed = orTimeout(this.#closed, GOODBYE_MS);
    closings.set(this.#wire, isClosed);
    await whenWritten(this.#wire);
    if (!this.#isClosed) this.#wire.terminate();
    await isClosed;
  }

  #send(query: PostgresJsQuery): void {
    if (!this.#wire.execute(query)) this.#mustWait = true;
  }

  /** Everything that was sent is answered. */
  #sendNext(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#mustWait = false;
    else this.#wire.execute(next);
  }
}

/** Takes a connection out of the pool; waits while all are in use. */
export async function openSession(sql: PostgresJsRunner): Promise<PostgresJsSession> {
  for (let tries = 1; ; tries++) {
    try {
      const session = await takeConnection(sql);
      if (session !== undefined) return session;
    } catch (error) {
      if (tries >= MOST_TRIES || !isAboutEarlier(error)) throw error;
    }
    if (tries >= MOST_TRIES) {
      throw new IntrayError(
        "UNSUPPORTED_DRIVER",
        "this version of postgres.js does not show the connection of a query; use postgres 3.4, or pg",
      );
    }
  }
}

/** Undefined where the library did not show the connection, which it skips when its socket is full. */
function takeConnection(sql: PostgresJsRunner): Promise<PostgresJsSession | undefined> {
  return new Promise((resolve, reject) => {
    const first = sql.unsafe("", [], {
      simple: true,
      onexecute(wire) {
        // Never while somebody else holds the connection.
        if (isWire(wire) && !wire.reserved) resolve(new PostgresJsSession(sql, wire));
        return false;
      },
    });
    if (!isQuery(first)) throw new TypeError("the sql of postgres.js makes no queries");
    first.then(() => resolve(undefined), reject);
  });
}

/**
 * After a connection died of a FATAL error, the library gives that error once more, to the first query
 * after it has connected anew. And a pooler answers what a mended connection first sends it (`mendUnsent`).
 */
function isAboutEarlier(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  const { code } = error;
  return ["57P01", "57P02", "25P03", "08P01"].includes(String(code));
}

/** Errors of the socket, and the library's own about it, have this; the server's and others do not. */
function isAboutConnection(error: unknown): error is Error {
  return error instanceof Error && "errno" in error;
}

/** When a connection that is held, or was when it closed, is closed. */
const closings = new WeakMap<PostgresJsWire, Promise<void>>();
const mended = new WeakSet<PostgresJsWire>();

/**
 * The library's `end()` waits for the answer to a query that went down with its connection, so for
 * ever (3.4.9): here a connection that has closed has ended.
 */
function endOnceClosed(wire: PostgresJsWire): void {
  const { connect, end } = wire;
  if (mended.has(wire) || connect === undefined || end === undefined) return;
  mended.add(wire);
  wire.connect = (query) => {
    closings.delete(wire);
    connect(query);
  };
  wire.end = () => {
    const closing = closings.get(wire);
    return closing === undefined ? end() : Promise.race([end(), closing]);
  };
}

/** The list of connections that are held; the pool never looks into it. */
const PARKED: PostgresJsWire["queue"] = { remove() {}, push() {} };

async function orTimeout(promise: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}
