/**
 * What intray asks of a database driver. A driver adapter (`fromPg`, `fromPostgresJs`...) makes the
 * user's pool look like this, and so can anybody: the five methods of {@link Connection} are enough.
 * What is optional buys speed, never correctness.
 */

/** What a statement answered. */
export interface QueryResult<Row = Record<string, unknown>> {
  readonly rows: Row[];
  /** Rows returned, or affected where the statement returns none. */
  readonly rowCount: number;
}

/** One thing to do on a connection, for {@link Connection.pipeline}. */
export type Step =
  | {
      readonly kind: "begin";
      /** The whole statement, with the isolation level in it. */
      readonly text: string;
      /** What goes before a bare `begin()` so that it opens one of that level. */
      readonly beforeBegin?: string;
      /** What gives a transaction that a bare `begin()` opened the same level. */
      readonly afterBegin?: string;
    }
  | { readonly kind: "commit" }
  | { readonly kind: "rollback" }
  | StatementStep;

/** A statement with its parameters. */
export interface StatementStep {
  readonly kind: "query";
  readonly text: string;
  readonly params?: readonly unknown[];
  /** The statement comes again and again: worth a prepared statement where the source has them. */
  readonly prepare?: boolean;
  /** See the dialects' `Statement`. A connection gets none of these: `runSteps` takes such a step apart. */
  readonly before?: readonly StatementStep[];
  readonly after?: readonly StatementStep[];
  order?(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): number;
  readonly program?: {
    readonly isSingle: boolean;
    run(): Generator<StatementStep, readonly Readonly<Record<string, unknown>>[], QueryResult>;
  };
}

/** A connection that is checked out: nobody else uses it until `release`. */
export interface Connection {
  /** Runs one statement with positional parameters in the database's own placeholders. */
  query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<QueryResult<Row>>;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  /**
   * Gives the connection back. With an error the connection is in doubt and must be destroyed, not
   * reused. A source that ignores the argument must not reuse broken connections by its own means.
   */
  release(error?: Error): void | Promise<void>;
  /**
   * `release(error)` ends the session, and any transaction with it, whatever state it is in. Left out:
   * the connection is rolled back before it is released with an error.
   */
  readonly destroysOnError?: boolean;
  /** The database that it is to, as its dialect is named: "postgres". Left out: unknown. */
  readonly database?: string;
  /** The driver's own client, for ORMs. */
  readonly client?: unknown;
  /**
   * The driver's own client made safe to hand to a handler: it can neither end the transaction nor
   * release the connection. `open` begins the transaction (or resolves at once when it is open); the
   * client awaits it before its first statement. Left out: the bare `client` is handed out.
   */
  guardClient?(open: () => Promise<void>): GuardedClient;
  /**
   * Sends all steps at once and answers each step's result in order. The promise of it: a step runs
   * only if every step before it succeeded. It rejects with the first step's error, and the
   * connection is usable afterwards (a transaction that is open then is for the caller to roll back).
   * A COMMIT that the database answered with ROLLBACK is an error here.
   */
  pipeline?(steps: readonly Step[]): Promise<QueryResult[]>;
  /**
   * A pipeline that fails leaves an open transaction open, also where a COMMIT stood behind the failing
   * step: it was never run. Left out: such a COMMIT may have rolled the transaction back.
   */
  readonly keepsFailedTransaction?: boolean;
  /**
   * Locks on keys, of a database whose sessions have none: the connection holds them across its
   * transactions, and they end with its release, or with its process. Left out: the advisory lock form is
   * refused on such a database.
   */
  readonly locks?: ConnectionLocks;
}

/** See {@link Connection.locks}. */
export interface ConnectionLocks {
  /** Keys that are held just now, here or elsewhere: not worth a try. */
  held(): Promise<readonly string[]>;
  /** Locks a key if nobody holds it, this connection neither, and answers whether it did. */
  tryLock(key: string): Promise<boolean>;
  /** Releases a key, and answers whether the connection held it. */
  unlock(key: string): Promise<boolean>;
}

/** A client that a handler may use; see {@link Connection.guardClient}. */
export interface GuardedClient {
  readonly client: unknown;
  /** From now on every new use is refused with the reason; what was asked for before still runs. */
  close(reason: Error): void;
  /** Resolves when no statement that was sent through the client is under way. */
  settled(): Promise<void>;
  /** The error that has rolled the whole transaction back, of databases where one does. Left out: none. */
  readonly rolledBackBy?: unknown;
}

/** What {@link ConnectionSource.listen} reports. */
export interface Listener {
  /** `channel` is there where there are several. */
  notified(payload: string, channel?: string): void;
  /** The listening connection is gone; no more notifications come. Called at most once. */
  lost(error: Error): void;
}

/** Where connections come from. The caller owns what is behind it; intray never closes that. */
export interface ConnectionSource<Database extends string = string> {
  /**
   * Checks a connection out. `signal` says that nobody waits for it any more; a source may ignore it
   * (a connection that arrives late is released at once).
   */
  connect(signal?: AbortSignal): Promise<Connection>;
  /** How many connections there can be at once; left out: unknown. */
  readonly max?: number;
  /** The database behind it, as its dialect is named: "postgres". Left out: unknown. */
  readonly database?: Database;
  /**
   * Opens a connection of its own that listens on a channel. Resolves when it listens; the answer
   * stops it and gives everything back.
   */
  listen?(channel: string, listener: Listener): Promise<() => Promise<void>>;
  /** The same on several channels, over one connection. Left out: each takes one of its own. */
  listenAll?(channels: readonly string[], listener: Listener): Promise<() => Promise<void>>;
  /** `listen` takes none of the `max` connections. Default false. */
  readonly listensApart?: boolean;
}
