/**
 * What intray needs of `pg`, structurally: no driver is imported, so it does not matter which copy
 * or version of it the service has.
 */
import { hasMethods, isObject } from "../options.ts";

export interface PgResultLike {
  readonly rows: unknown[];
  readonly rowCount: number | null;
  readonly command?: string;
}

/** A client of `pg` that is checked out of a pool. */
export interface PgClientLike {
  query(text: string, values?: unknown[]): Promise<PgResultLike | PgResultLike[]>;
  release(error?: Error | boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "notification", listener: (message: PgNotificationLike) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "end", listener: () => void): unknown;
  removeListener(event: "notification", listener: (message: PgNotificationLike) => void): unknown;
}

export interface PgNotificationLike {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** A pool of `pg`, or what looks like one. */
export interface PgPoolLike {
  connect(): Promise<PgClientLike>;
  on?(event: "error", listener: (error: Error) => void): unknown;
  on?(event: "connect", listener: (client: PgClientLike) => void): unknown;
  readonly options?: { readonly max?: number | undefined };
}

/** A pool that can be ended. */
export interface PgOwnedPoolLike extends PgPoolLike {
  end(): Promise<void>;
}

/** The `pg` module: `import pg from "pg"` or `import * as pg from "pg"`. */
export interface PgModuleLike {
  readonly Pool: new (options: PgPoolOptions) => PgOwnedPoolLike;
}

export interface PgPoolOptions {
  readonly connectionString: string;
  readonly max?: number;
}

/** A query object of `pg`: what its client drives through the answers to one Sync. */
export interface PgQueryLike {
  name?: string | undefined;
  text?: string | undefined;
  binary?: boolean | undefined;
  callback?: PgCallback | undefined;
  submit(connection: PgWireLike): Error | null | undefined;
  prepare(connection: PgWireLike): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: PgWireLike): void;
  handleEmptyQuery(connection: PgWireLike): void;
  handlePortalSuspended(connection: PgWireLike): void;
  handleCopyInResponse(connection: PgWireLike): void;
  handleCopyData(message: unknown, connection: PgWireLike): void;
  handleReadyForQuery(connection: PgWireLike): void;
  handleError(error: Error, connection: PgWireLike): void;
}

export type PgCallback = (error: Error | null | undefined, result?: PgResultLike) => void;

export interface PgQueryConfig {
  readonly text: string;
  readonly values?: unknown[];
  readonly name?: string | undefined;
  readonly types?: { getTypeParser(oid: number, format?: string): unknown };
}

/** The wire of a client: `client.connection`. */
export interface PgWireLike {
  readonly stream: { cork?(): void; uncork?(): void };
  parsedStatements: Record<string, string | undefined>;
  submittedNamedStatements?: Record<string, string | undefined>;
  parse(message: PgParseMessage): void;
  bind(message: PgBindMessage): void;
  describe(message: unknown): void;
  execute(message: unknown): void;
  close(message: unknown): void;
  flush(): void;
  sync(): void;
  sendCopyFail(message: string): void;
}

export interface PgParseMessage {
  readonly name?: string | undefined;
  readonly text: string;
  readonly types?: unknown;
}

export interface PgBindMessage {
  readonly values?: unknown[] | undefined;
  readonly valueMapper?: ((value: unknown, index: number) => unknown) | undefined;
}

/** A client whose wire can be written to, which is `pg` itself and not `pg-native`. */
export interface PgWireClient extends PgClientLike {
  readonly connection: PgWireLike;
  readonly binary?: boolean;
  readonly processID?: unknown;
  getTypeParser(oid: number, format?: string): unknown;
  query(text: string, values?: unknown[]): Promise<PgResultLike | PgResultLike[]>;
  query(query: PgQueryLike): unknown;
}

export type PgQueryClass = new (
  config: PgQueryConfig | string,
  values: undefined,
  callback: PgCallback,
) => PgQueryLike;

const WIRE_METHODS = ["parse", "bind", "describe", "execute", "close", "flush", "sync"] as const;
const QUERY_METHODS = [
  "submit",
  "prepare",
  "handleRowDescription",
  "handleDataRow",
  "handleCommandComplete",
  "handleReadyForQuery",
  "handleError",
] as const;

/** Whether the client has all that a pipelined flush is made of. */
export function isWireClient(client: PgClientLike): client is PgWireClient {
  if (!("connection" in client) || !("getTypeParser" in client)) return false;
  const wire = client.connection;
  return (
    hasMethods(wire, WIRE_METHODS) &&
    "parsedStatements" in wire &&
    isObject(wire.parsedStatements) &&
    "stream" in wire &&
    isObject(wire.stream) &&
    typeof client.getTypeParser === "function" &&
    queryClassOf(client) !== undefined
  );
}

/** `pg`'s own Query class, reached through the client so that it is the same copy of it. */
export function queryClassOf(client: object): PgQueryClass | undefined {
  const Query: unknown = Reflect.get(client.constructor, "Query");
  return isQueryClass(Query) ? Query : undefined;
}

function isQueryClass(value: unknown): value is PgQueryClass {
  return typeof value === "function" && hasMethods(value.prototype, QUERY_METHODS);
}
