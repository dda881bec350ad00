import { asError } from "../errors.ts";
import type { PgStatementNames } from "./pg-statement-names.ts";
import {
  type PgCallback,
  type PgQueryClass,
  type PgQueryLike,
  type PgResultLike,
  type PgWireClient,
  type PgWireLike,
  queryClassOf,
} from "./pg-types.ts";
import { WireRecorder } from "./pg-wire-recorder.ts";

/** One statement of a flush. */
export interface FlushStatement {
  readonly text: string;
  readonly params?: readonly unknown[] | undefined;
  readonly prepare?: boolean | undefined;
  /** BEGIN, COMMIT, ROLLBACK: no values and no rows. */
  readonly isControl?: boolean;
}

/**
 * Sends statements in one flush that ends with one Sync, and answers their results in order.
 *
 * The one Sync is the point: after an error the server skips everything up to it, so a statement runs
 * only if all before it succeeded, and the connection is in step again. `pg`'s own pipelining gives
 * each query its own Sync and cannot promise that.
 *
 * How: each statement is a Query of `pg` itself, which prepares its messages against a wire that only
 * writes them down (so values are converted and rows parsed exactly as `client.query` does it). One
 * more Query, the only one that the client knows of, sends them all and passes the answers on.
 * Nothing is sent if a value cannot be converted.
 */
export function flush(
  client: PgWireClient,
  statements: readonly FlushStatement[],
  names: PgStatementNames,
): Promise<PgResultLike[]> {
  const Query = queryClassOf(client);
  if (Query === undefined) throw new TypeError("the client of pg has no Query class");
  const Flush = flushClassOf(Query);
  return new Promise((resolve, reject) => {
    const flush = new Flush(client, statements, names, (error, results) => {
      if (error) reject(error);
      else resolve(results);
    });
    void client.query(flush);
  });
}

type FlushCallback = (error: Error | undefined, results: PgResultLike[]) => void;

type FlushClass = new (
  client: PgWireClient,
  statements: readonly FlushStatement[],
  names: PgStatementNames,
  done: FlushCallback,
) => PgQueryLike;

/** A class for each copy of `pg`: in its pipeline mode a client takes only Queries of its own. */
const flushClasses = new WeakMap<PgQueryClass, FlushClass>();

function flushClassOf(Query: PgQueryClass): FlushClass {
  let known = flushClasses.get(Query);
  if (known === undefined) {
    known = makeFlushClass(Query);
    flushClasses.set(Query, known);
  }
  return known;
}

function makeFlushClass(Query: PgQueryClass): FlushClass {
  return class Flush extends Query {
    readonly #names: PgStatementNames;
    readonly #parts: readonly Part[];
    readonly #recorder: WireRecorder;
    readonly #wire: PgWireLike;
    readonly #results: PgResultLike[] = [];
    #finished = 0;
    /** A value that does not convert, or a row that does not parse. */
    #stepError: Error | undefined;

    constructor(
      client: PgWireClient,
      statements: readonly FlushStatement[],
      names: PgStatementNames,
      done: FlushCallback,
    ) {
      super("", undefined, (error) => {
        if (error) this.#failed(error);
        done(error ?? this.#stepError, this.#results);
      });
      this.#names = names;
      this.#wire = client.connection;
      this.#recorder = new WireRecorder(client.connection);
      const keep: PgCallback = (error, result) => {
        if (error) this.#stepError ??= asError(error);
        else if (result !== undefined) this.#results.push(result);
      };
      this.#parts = statements.map((statement) => {
        const name = statement.prepare === true ? names.nameOf(statement.text) : undefined;
        return new Part(Query, client, statement, name, keep);
      });
    }

    override submit(wire: PgWireLike): Error | null {
      for (const { query } of this.#parts) {
        query.prepare(this.#recorder);
        if (this.#stepError !== undefined) return this.#stepError;
      }
      this.#recorder.replay(wire);
      this.#trackName();
      return null;
    }

    override handleRowDescription(message: unknown): void {
      this.#current?.query.handleRowDescription(message);
    }

    override handleDataRow(message: unknown): void {
      this.#current?.query.handleDataRow(message);
    }

    override handleCommandComplete(message: unknown): void {
      this.#current?.query.handleCommandComplete(message, this.#recorder);
      this.#finish();
    }

    override handleEmptyQuery(): void {
      this.#current?.query.handleEmptyQuery(this.#recorder);
      this.#finish();
    }

    /** No step limits its rows. */
    override handlePortalSuspended(): void {}

    override handleCopyInResponse(wire: PgWireLike): void {
      wire.sendCopyFail("COPY FROM STDIN cannot run here");
      // A server that waits for COPY data ignores the Sync that came behind. (Behind other messages
      // it gives up the connection.)
      if (this.#finished === this.#parts.length - 1) wire.sync();
    }

    override handleCopyData(): void {}

    override handleReadyForQuery(): void {
      for (const { query } of this.#parts) query.handleReadyForQuery(this.#recorder);
      this.callback?.(null);
    }

    override handleError(error: Error): void {
      this.callback?.(error);
    }

    get #current(): Part | undefined {
      return this.#parts[this.#finished];
    }

    #finish(): void {
      this.#finished += 1;
      this.#trackName();
    }

    /**
     * The client keeps its list of prepared statements by the name and text of the query that it
     * knows of, so these follow the statement that is being answered.
     */
    #trackName(): void {
      this.name = this.#current?.name;
      this.text = this.#current?.text ?? "";
    }

    #failed(error: Error): void {
      const failed = this.#current;
      if (failed?.name !== undefined) this.#names.failed(failed.text, error);
      this.#recorder.forgetSubmitted(this.#wire);
    }
  };
}

/** One statement of a flush and the Query that knows its answers. */
class Part {
  readonly query: PgQueryLike;
  readonly text: string;
  readonly name: string | undefined;

  constructor(
    Query: PgQueryClass,
    client: PgWireClient,
    { text, params = [], isControl = false }: FlushStatement,
    name: string | undefined,
    callback: PgCallback,
  ) {
    // A config is cloned, property by property: too dear for what needs none.
    const config = isControl ? text : { text, values: [...params], types: client, name };
    this.query = new Query(config, undefined, callback);
    this.query.binary = client.binary;
    this.text = text;
    this.name = name;
  }
}
