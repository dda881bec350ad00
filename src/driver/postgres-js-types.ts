import { hasMethods, isObject } from "../options.ts";

/**
 * What intray needs of postgres.js, structurally: no driver is imported, so it does not matter which
 * copy of it the service has. What is not in the library's own types is checked at run time.
 */

/** The `sql` of postgres.js, or what looks like one. */
export interface PostgresJsSqlLike {
  unsafe(text: string): PromiseLike<unknown>;
  typed: unknown;
  listen(
    channel: string,
    onnotify: (payload: string) => void,
    onlisten?: () => void,
  ): Promise<PostgresJsListening>;
  readonly options: {
    readonly max?: number;
    readonly transform?: unknown;
  };
}

export interface PostgresJsListening {
  unlisten(): Promise<void>;
}

/** The same `sql` as this adapter uses it. */
export interface PostgresJsRunner {
  unsafe(
    text: string,
    params: readonly unknown[],
    options: PostgresJsQueryOptions,
  ): PostgresJsQuery;
  typed(value: unknown, oid: number): object;
}

/** Options of a query; the library's own `begin` works by `onexecute`. */
export interface PostgresJsQueryOptions {
  readonly prepare?: boolean;
  readonly simple?: boolean;
  readonly onexecute?: (wire: unknown) => boolean;
}

/** A query that starts when it is awaited, by giving itself to its handler. */
export interface PostgresJsQuery extends PromiseLike<PostgresJsAnswer | PostgresJsAnswer[]> {
  handler: (query: PostgresJsQuery) => void;
  reject(error: Error): void;
}

/** The rows of a statement, with its tag. */
export interface PostgresJsAnswer extends Array<unknown> {
  readonly command: string | null;
  readonly count: number | null;
}

/** One connection of the library's pool. */
export interface PostgresJsWire {
  /** False when nothing may be sent before the answer. */
  execute(query: PostgresJsQuery): unknown;
  terminate(): void;
  /** Opens it for a query. */
  connect?: (query: unknown) => void;
  /** Resolves when all was answered and it is closed. */
  end?: () => Promise<unknown>;
  /** Called when all was answered, instead of what gives the connection to others. */
  reserved: (() => void) | null | undefined;
  /** Called once when the connection is gone. */
  onclose?: ((error: Error) => void) | null | undefined;
  /** The list of the pool that the connection is in. */
  queue: { remove(wire: PostgresJsWire): unknown; push(wire: PostgresJsWire): unknown };
}

export function isRunner(value: object): value is PostgresJsRunner {
  return hasMethods(value, ["unsafe", "typed"]);
}

export function isQuery(value: unknown): value is PostgresJsQuery {
  return hasMethods(value, ["then", "handler", "reject"]);
}

export function isWire(value: unknown): value is PostgresJsWire {
  return (
    isObject(value) &&
    hasMethods(value, ["execute", "terminate"]) &&
    "queue" in value &&
    hasMethods(value.queue, ["remove", "push"])
  );
}
