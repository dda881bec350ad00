import { asError } from "../errors.ts";
import { hasMethods, isObject } from "../options.ts";
import { orAbort } from "../time-limit.ts";
import { quoteChannel } from "./channel.ts";
import type { Connection, ConnectionSource, Listener } from "./connection.ts";
import { PgConnection } from "./pg-connection.ts";
import { listenOnClient } from "./pg-listen.ts";
import {
  isWireClient,
  type PgModuleLike,
  type PgOwnedPoolLike,
  type PgPoolLike,
} from "./pg-types.ts";

export type { PgClientLike, PgModuleLike, PgOwnedPoolLike, PgPoolLike } from "./pg-types.ts";

/** Settings of {@link fromPg}. */
export interface PgOptions {
  /**
   * Whether statements that come again and again get a name on the server, which saves planning them
   * anew. Default: yes, unless the first connection shows a pooler between us and the server
   * (PgBouncer in transaction mode loses such names). `false` turns it off.
   */
  readonly prepare?: boolean;
  /** Hears of errors on connections that idle in the pool. They never end the process either way. */
  readonly onIdleError?: (error: Error) => void;
}

/** Settings of {@link fromPg} with a pool of its own. */
export interface PgOwnPoolOptions extends PgOptions {
  /** The most connections at once. Default: pg's own, 10. */
  readonly max?: number;
}

/** A source that owns its pool. */
export interface PgOwnedSource extends ConnectionSource<"postgres"> {
  /** Ends the pool. Call it after everything that uses the source has stopped. */
  close(): Promise<void>;
}

/**
 * Connections from a pool of `pg`. The pool stays yours: intray never ends it.
 *
 * @example
 * import pg from "pg";
 * const source = fromPg(new pg.Pool({ connectionString, max: 10 }));
 *
 * @throws TypeError if the pool or an option has the wrong shape.
 */
export function fromPg(pool: PgPoolLike, options?: PgOptions): ConnectionSource<"postgres">;
/**
 * Connections from a pool that the source makes from the `pg` module and ends at `close()`.
 *
 * @example
 * import pg from "pg";
 * const source = fromPg(pg, "postgres://localhost/app");
 * // ...
 * await source.close();
 *
 * @throws TypeError if the module, the connection string or an option has the wrong shape.
 */
export function fromPg(
  pg: PgModuleLike,
  connectionString: string,
  options?: PgOwnPoolOptions,
): PgOwnedSource;
export function fromPg(
  poolOrModule: PgPoolLike | PgModuleLike,
  second?: PgOptions | string,
  third?: PgOwnPoolOptions,
): ConnectionSource<"postgres"> {
  if (typeof second === "string") return fromModule(poolOrModule, second, third);
  if (!isPool(poolOrModule)) {
    throw new TypeError(
      isModule(poolOrModule)
        ? "fromPg: the pg module needs a connection string as the second argument, or pass a pool: fromPg(new pg.Pool())"
        : "fromPg: takes a pool of pg, such as new pg.Pool(), or the pg module and a connection string",
    );
  }
  return new PgSource(poolOrModule, checkOptions(second));
}

function fromModule(
  pg: PgPoolLike | PgModuleLike,
  connectionString: string,
  options?: PgOwnPoolOptions,
): PgOwnedSource {
  if (!isModule(pg)) {
    throw new TypeError(
      "fromPg: a connection string goes with the pg module as the first argument",
    );
  }
  if (connectionString.trim() === "") throw new TypeError("fromPg: the connection string is blank");
  const checked = checkOptions(options);
  const max = options?.max;
  if (max !== undefined && (!Number.isInteger(max) || max < 1)) {
    throw new RangeError(`fromPg: max is ${String(max)}; it takes a whole number from 1`);
  }
  const pool = new pg.Pool({ connectionString, ...(max !== undefined && { max }) });
  return new OwnedPgSource(pool, checked);
}

function checkOptions(options: PgOptions | undefined): PgOptions {
  if (options === undefined) return {};
  if (!isObject(options)) {
    throw new TypeError(`fromPg: options is ${typeof options}; it takes an object`);
  }
  if (options.prepare !== undefined && typeof options.prepare !== "boolean") {
    throw new TypeError(`fromPg: prepare is ${String(options.prepare)}; it takes true or false`);
  }
  if (options.onIdleError !== undefined && typeof options.onIdleError !== "function") {
    throw new TypeError("fromPg: onIdleError takes a function");
  }
  return options;
}

/** A single client has `connect` too, which answers nothing: one connection is no source of them. */
function isPool(value: unknown): value is PgPoolLike {
  return hasMethods(value, ["connect"]) && !("connectionParameters" in value);
}

function isModule(value: unknown): value is PgModuleLike {
  return hasMethods(value, ["Pool"]);
}

class PgSource implements ConnectionSource {
  readonly database = "postgres";
  readonly max?: number;
  readonly #pool: PgPoolLike;
  /** Whether names on the server survive from flush to flush; undefined until a connection told. */
  #prepares: boolean | undefined;
  #asking: Promise<void> | undefined;

  constructor(pool: PgPoolLike, options: PgOptions) {
    this.#pool = pool;
    if (options.prepare === false) this.#prepares = false;
    const max = pool.options?.max;
    if (max !== undefined) this.max = max;
    hearIdleErrors(pool, options.onIdleError);
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    signal?.throwIfAborted();
    const opening = this.#open();
    if (signal === undefined) return opening;
    return orAbort(opening, signal, (late) => void late.release());
  }

  async listen(channel: string, listener: Listener): Promise<() => Promise<void>> {
    return await this.listenAll([channel], listener);
  }

  async listenAll(channels: readonly string[], listener: Listener): Promise<() => Promise<void>> {
    // Refused before anything is opened.
    const quoted = new Map(channels.map((channel) => [channel, quoteChannel(channel)]));
    return listenOnClient(await this.#pool.connect(), quoted, listener);
  }

  async #open(): Promise<Connection> {
    const connection = new PgConnection(await this.#pool.connect());
    try {
      connection.prepares = await this.#learnsNames(connection);
    } catch (error) {
      connection.release(asError(error));
      throw error;
    }
    return connection;
  }

  /** The first connection asks; those that come while it does wait for its answer. */
  async #learnsNames(connection: PgConnection): Promise<boolean> {
    await this.#asking;
    if (this.#prepares === undefined) {
      const question = reachesServerDirectly(connection);
      this.#asking = question.then(noValue, noValue);
      this.#prepares = await question;
    }
    return this.#prepares;
  }
}

function noValue(): void {}

/**
 * Whether the process that the client was told of is the one that answers. A pooler makes up the
 * number that it tells, and may hand each transaction to another process, where names are unknown.
 */
async function reachesServerDirectly(connection: PgConnection): Promise<boolean> {
  const { client } = connection;
  if (!isWireClient(client) || typeof client.processID !== "number") return false;
  const { rows } = await connection.query<{ pid: unknown }>("SELECT pg_backend_pid() AS pid");
  return String(rows[0]?.pid) === String(client.processID);
}

class OwnedPgSource extends PgSource implements PgOwnedSource {
  readonly #owned: PgOwnedPoolLike;
  #ended: Promise<void> | undefined;

  constructor(pool: PgOwnedPoolLike, options: PgOptions) {
    super(pool, options);
    this.#owned = pool;
  }

  close(): Promise<void> {
    this.#ended ??= this.#owned.end();
    return this.#ended;
  }
}

/** Queries on the client reject, and the pool drops it: nobody needs to be told. */
function ignore(): void {}

/** Who hears of a pool's idle errors; several sources on one pool attach one listener. */
const idleErrorHearers = new WeakMap<PgPoolLike, Set<(error: Error) => void>>();

function hearIdleErrors(pool: PgPoolLike, hear: ((error: Error) => void) | undefined): void {
  let hearers = idleErrorHearers.get(pool);
  if (hearers === undefined) {
    hearers = new Set();
    idleErrorHearers.set(pool, hearers);
    const all = hearers;
    // Without a listener the error of a connection that merely idles would end the process.
    pool.on?.("error", (error) => {
      for (const tell of all) tell(error);
    });
    // A session that the server ends as it begins tells its error in the same chunk of bytes that makes
    // the pool hand it out: before the one who asked for it can listen.
    pool.on?.("connect", (client) => {
      client.on("error", ignore);
    });
  }
  if (hear !== undefined) hearers.add(hear);
}
