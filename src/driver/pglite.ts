import { asError, TransactionError } from "../errors.ts";
import { hasMethods } from "../options.ts";
import { quoteChannel } from "./channel.ts";
import { commitRefused } from "./commit-error.ts";
import type {
  Connection,
  ConnectionSource,
  GuardedClient,
  Listener,
  QueryResult,
} from "./connection.ts";
import { FifoLock } from "./fifo-lock.ts";
import { guardPglite } from "./guarded-pglite.ts";
import { textParameter } from "./text-parameter.ts";

/** What PGlite answers a statement with. */
export interface PgliteResultLike {
  readonly rows: unknown[];
  readonly fields: readonly unknown[];
  readonly affectedRows?: number;
  readonly rowCount?: number;
  readonly command?: string;
}

/** Where PGlite runs statements: the database itself, or a transaction of it. */
export interface PgliteQueryLike {
  query(
    text: string,
    params?: unknown[],
    options?: { serializers?: Record<number, (value: unknown) => string> },
  ): Promise<PgliteResultLike>;
  exec(text: string): Promise<PgliteResultLike[]>;
}

/** A PGlite database, or what looks like one. */
export interface PgliteLike extends PgliteQueryLike {
  transaction<T>(run: (tx: PgliteQueryLike) => Promise<T>): Promise<T>;
  listen(channel: string, callback: (payload: string) => void): Promise<() => Promise<void>>;
  onNotification(callback: (channel: string, payload: string) => void): () => void;
}

/**
 * Connections from a PGlite database, which has one. It is lent to one caller at a time, in the order
 * they came. While a transaction of intray is open, PGlite holds back your own `db.query` calls until
 * it ends, so nothing slips into it; inside a handler use its `tx`, since a handler that awaits
 * `db.query` would wait for itself. The database stays yours: intray never closes it.
 *
 * @example
 * import { PGlite } from "@electric-sql/pglite";
 * const source = fromPglite(new PGlite());
 *
 * @throws TypeError if the database has the wrong shape.
 */
export function fromPglite(db: PgliteLike): ConnectionSource<"postgres"> {
  if (!hasMethods(db, ["query", "exec", "transaction", "listen", "onNotification"])) {
    throw new TypeError("fromPglite: takes a PGlite database, such as new PGlite()");
  }
  return new PgliteSource(db);
}

/** One lock a database, so that several sources on it queue together. */
const locks = new WeakMap<PgliteLike, FifoLock>();

class PgliteSource implements ConnectionSource {
  readonly database = "postgres";
  readonly max = 1;
  readonly listensApart = true;
  readonly #db: PgliteLike;
  readonly #lock: FifoLock;

  constructor(db: PgliteLike) {
    this.#db = db;
    this.#lock = locks.get(db) ?? new FifoLock();
    locks.set(db, this.#lock);
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    return new PgliteConnection(this.#db, await this.#lock.acquire(signal));
  }

  async listen(channel: string, listener: Listener): Promise<() => Promise<void>> {
    // `db.listen` counts who listens, but calls nobody for a channel with a quote in its name. PGlite
    // tells of no loss: there is no network between, and its end is its owner's doing.
    const deafen = this.#db.onNotification((heard, payload) => {
      if (heard === channel) listener.notified(payload);
    });
    let unlisten: (() => Promise<void>) | undefined;
    try {
      unlisten = await this.#db.listen(quoteChannel(channel), () => {});
    } catch (error) {
      deafen();
      throw error;
    }
    return async () => {
      const stop = unlisten;
      unlisten = undefined;
      deafen();
      await stop?.();
    };
  }
}

/** An open transaction: PGlite runs it as a callback, which waits here until it is told to end. */
interface OpenTransaction {
  readonly tx: PgliteQueryLike;
  /** Lets the callback return; PGlite's own COMMIT then finds nothing open. */
  end(): void;
  /** Makes the callback throw, whereupon PGlite rolls back. */
  abort(error: Error): void;
  /** Resolves when PGlite is done with the transaction, however it ended. */
  readonly over: Promise<void>;
}

class PgliteConnection implements Connection {
  readonly database = "postgres";
  readonly destroysOnError = true;
  readonly #db: PgliteLike;
  #giveBack: (() => void) | undefined;
  #open: OpenTransaction | undefined;

  constructor(db: PgliteLike, giveBack: () => void) {
    this.#db = db;
    this.#giveBack = giveBack;
  }

  /** The transaction while one is open, else the database. */
  get client(): PgliteQueryLike {
    return this.#open?.tx ?? this.#db;
  }

  guardClient(open: () => Promise<void>): GuardedClient {
    return guardPglite(() => this.#opened("a query").tx, open);
  }

  async query<Row = Record<string, unknown>>(
    text: string,
    params: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    const target = this.#target();
    // Only the simple protocol takes text of several statements; the last answer counts.
    if (params.length === 0) return toResult<Row>((await target.exec(text)).at(-1));
    const texts = params.map((value, index) => textParameter(value, index + 1));
    return toResult<Row>(await target.query(text, texts, { serializers: AS_TEXT }));
  }

  async begin(): Promise<void> {
    this.#target();
    if (this.#open !== undefined) throw new TransactionError("a transaction is open already");
    this.#open = await openTransaction(this.#db);
  }

  async commit(): Promise<void> {
    const open = this.#opened("commit");
    let answer: PgliteResultLike | undefined;
    try {
      // PGlite's own COMMIT does not tell when it was answered with ROLLBACK.
      answer = (await open.tx.exec("COMMIT")).at(-1);
    } catch (error) {
      await this.#endTransaction((transaction) => transaction.abort(asError(error)));
      throw error;
    }
    await this.#endTransaction((transaction) => transaction.end());
    if (answer?.command === "ROLLBACK") throw commitRefused();
  }

  async rollback(): Promise<void> {
    this.#opened("rollback");
    await this.#endTransaction((transaction) => transaction.abort(new Error("rolled back")));
  }

  async release(): Promise<void> {
    const giveBack = this.#giveBack;
    this.#giveBack = undefined;
    if (giveBack === undefined) return;
    try {
      // There is no other connection to replace this one, so a transaction left open is rolled back.
      await this.#endTransaction((transaction) => transaction.abort(new Error("released")));
    } finally {
      giveBack();
    }
  }

  #target(): PgliteQueryLike {
    if (this.#giveBack === undefined) throw new TransactionError("the connection was released");
    return this.client;
  }

  #opened(what: string): OpenTransaction {
    this.#target();
    if (this.#open === undefined) throw new TransactionError(`${what}: no transaction is open`);
    return this.#open;
  }

  async #endTransaction(end: (transaction: OpenTransaction) => void): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    end(open);
    await open.over;
  }
}

function openTransaction(db: PgliteLike): Promise<OpenTransaction> {
  return new Promise((resolve, reject) => {
    let end = (): void => {};
    let abort = (_error: Error): void => {};
    const held = new Promise<void>((resolveHeld, rejectHeld) => {
      end = resolveHeld;
      abort = rejectHeld;
    });
    const running = db.transaction((tx) => {
      resolve({ tx, end, abort, over });
      return held;
    });
    // Ends in an error whenever it was rolled back, and nobody has to hear of that.
    const over = running.then(
      () => {},
      () => {},
    );
    // Without effect once the callback has run: then BEGIN itself succeeded.
    running.catch(reject);
  });
}

/** Parameters are text already, whatever type PGlite finds for them. */
const AS_TEXT: Record<number, (value: unknown) => string> = new Proxy(
  {},
  { get: () => (value: unknown) => String(value) },
);

function toResult<Row>(answer: PgliteResultLike | undefined): QueryResult<Row> {
  if (answer === undefined) return { rows: [], rowCount: 0 };
  // What the rows hold is the caller's word.
  const rows = answer.rows as Row[];
  const returnsRows = answer.fields.length > 0;
  return {
    rows,
    rowCount: returnsRows ? rows.length : (answer.rowCount ?? answer.affectedRows ?? 0),
  };
}
