import { asError } from "../errors.ts";
import type { PgStatementNames } from "./pg-statement-names.ts";
import {
  type PgBindMessage,
  type PgParseMessage,
  type PgQueryLike,
  type PgResultLike,
  type PgWireClient,
  type PgWireLike,
  queryClassOf,
} from "./pg-types.ts";

/** One statement of a flush. */
export interface FlushStatement {
  readonly text: string;
  readonly params?: readonly unknown[] | undefined;
  readonly prepare?: boolean | undefined;
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
  const types = {
    getTypeParser: (oid: number, format?: string) => client.getTypeParser(oid, format),
  };

  return new Promise((resolve, reject) => {
    const results: PgResultLike[] = [];
    /** A value that does not convert, or a row that does not parse. */
    let stepError: Error | undefined;
    const parts = statements.map((statement): Part => {
      const name = statement.prepare === true ? names.nameOf(statement.text) : undefined;
      const query = new Query(
        {
          text: statement.text,
          values: [...(statement.params ?? [])],
          types,
          ...(name !== undefined && { name }),
        },
        undefined,
        (error, result) => {
          if (error) stepError ??= asError(error);
          else if (result !== undefined) results.push(result);
        },
      );
      query.binary = client.binary;
      return { query, text: statement.text, name };
    });

    let finished = 0;
    const current = (): Part | undefined => parts[finished];
    const finish = () => {
      finished++;
      trackName();
    };
    // The client keeps its list of prepared statements by the name and text of the query that it
    // knows of, so these follow the statement that is being answered.
    const trackName = () => {
      outer.name = current()?.name;
      outer.text = current()?.text ?? "";
    };

    const outer = new Query({ text: "" }, undefined, (error) => {
      if (error) {
        const failed = current();
        if (failed?.name !== undefined) names.failed(failed.text, error);
        forgetUnanswered();
        reject(error);
      } else if (stepError !== undefined) {
        reject(stepError);
      } else {
        resolve(results);
      }
    });
    const recorder = new WireRecorder(client.connection);
    const forgetUnanswered = () => recorder.forgetSubmitted(client.connection);

    const answers: Omit<PgQueryLike, "name" | "text" | "binary" | "callback" | "prepare"> = {
      submit(wire) {
        for (const { query } of parts) {
          query.prepare(recorder);
          if (stepError !== undefined) return stepError;
        }
        recorder.replay(wire);
        trackName();
        return null;
      },
      handleRowDescription: (message) => current()?.query.handleRowDescription(message),
      handleDataRow: (message) => current()?.query.handleDataRow(message),
      handleCommandComplete(message) {
        current()?.query.handleCommandComplete(message, recorder);
        finish();
      },
      handleEmptyQuery() {
        current()?.query.handleEmptyQuery(recorder);
        finish();
      },
      // No step limits its rows.
      handlePortalSuspended() {},
      handleCopyInResponse(wire) {
        wire.sendCopyFail("COPY FROM STDIN cannot run here");
        // A server that waits for COPY data ignores the Sync that came behind. (Behind other messages
        // it gives up the connection.)
        if (finished === parts.length - 1) wire.sync();
      },
      handleCopyData() {},
      handleReadyForQuery() {
        for (const { query } of parts) query.handleReadyForQuery(recorder);
        outer.callback?.(null);
      },
      handleError: (error) => outer.callback?.(error),
    };
    Object.assign(outer, answers);
    void client.query(outer);
  });
}

interface Part {
  readonly query: PgQueryLike;
  readonly text: string;
  readonly name: string | undefined;
}

/** A wire that keeps what a Query would send. */
class WireRecorder implements PgWireLike {
  readonly stream: PgWireLike["stream"] = {};
  /** What the client knows to be prepared, and beneath it what this flush prepares. */
  parsedStatements: Record<string, string | undefined>;
  submittedNamedStatements: Record<string, string | undefined> = {};
  readonly #submittedBefore: Record<string, string | undefined>;
  readonly #messages: ((wire: PgWireLike) => void)[] = [];
  readonly #ownNames = new Map<string, string>();
  #isSent = false;

  constructor(wire: PgWireLike) {
    this.parsedStatements = Object.create(wire.parsedStatements);
    this.#submittedBefore = wire.submittedNamedStatements ?? {};
  }

  parse({ name, text }: PgParseMessage): void {
    if (name) {
      // Another flush is on its way that prepares this name, or fails before it gets there. Closing a
      // name that is not there is no error, preparing one that is would be.
      if (this.#submittedBefore[name] !== undefined) {
        this.#messages.push((wire) => wire.close({ type: "S", name }));
      }
      this.#ownNames.set(name, text);
      this.parsedStatements[name] = text;
    }
    // Without the types: those of a Query here are result parsers.
    this.#messages.push((wire) => wire.parse(name ? { name, text } : { text }));
  }

  bind(message: PgBindMessage): void {
    const { valueMapper, values } = message;
    // Now and not when it is sent: a value that does not convert must stop the flush before it starts.
    const mapped =
      valueMapper === undefined ? values : values?.map((value, i) => valueMapper(value, i));
    const plain = { ...message, values: mapped, valueMapper: undefined };
    this.#messages.push((wire) => wire.bind(plain));
  }

  describe(message: unknown): void {
    this.#messages.push((wire) => wire.describe(message));
  }

  execute(message: unknown): void {
    this.#messages.push((wire) => wire.execute(message));
  }

  close(): void {}
  flush(): void {}
  sync(): void {}
  sendCopyFail(): void {}

  replay(wire: PgWireLike): void {
    this.#isSent = true;
    wire.stream.cork?.();
    try {
      for (const send of this.#messages) send(wire);
      wire.sync();
    } finally {
      wire.stream.uncork?.();
    }
    if (wire.submittedNamedStatements === undefined) return;
    for (const [name, text] of this.#ownNames) wire.submittedNamedStatements[name] = text;
  }

  /** The names of this flush that the server never got to: their Parse was skipped. */
  forgetSubmitted(wire: PgWireLike): void {
    if (!this.#isSent || wire.submittedNamedStatements === undefined) return;
    for (const name of this.#ownNames.keys()) delete wire.submittedNamedStatements[name];
  }
}
