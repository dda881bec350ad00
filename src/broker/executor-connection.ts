/** Writing through what the library's own drivers make: connections, and sources of them. */
import { giveBack } from "../driver/checkout.ts";
import type { Connection, ConnectionSource, Step } from "../driver/connection.ts";
import { isConnectionSource } from "../driver/is-connection-source.ts";
import { hasParts, runSteps } from "../driver/run-steps.ts";
import { asError } from "../errors.ts";
import { hasMethods } from "../options.ts";
import type { Executor } from "./executor.ts";

export function isConnection(value: unknown): value is Connection {
  return hasMethods(value, ["query", "begin", "commit", "rollback", "release"]);
}

/** On a connection that the caller has; `session` tells whose it is where the connection is made for this. */
export function connectionExecutor(conn: Connection, session: object = conn): Executor {
  return {
    database: conn.database,
    runsPrograms: true,
    session,
    run: (steps) => runSteps(conn, steps),
  };
}

export function sourceExecutorOf(value: unknown): Executor | undefined {
  return isConnectionSource(value) ? sourceExecutor(value) : undefined;
}

/** On connections that are taken from the source, and given back. */
export function sourceExecutor(source: ConnectionSource): Executor {
  return {
    database: source.database,
    runsPrograms: true,
    async run(steps, begin) {
      const connection = await source.connect();
      const isSeveral = steps.length > 1 || steps.some(hasParts);
      try {
        const all: Step[] = isSeveral ? [begin, ...steps, { kind: "commit" }] : [...steps];
        const results = await runSteps(connection, all);
        await giveBack(connection);
        return isSeveral ? results.slice(1, -1) : results;
      } catch (error) {
        // Where a transaction of several steps stands, nobody knows: the connection goes with it.
        if (isSeveral) await giveBack(connection, asError(error));
        else await giveBack(connection, connection.destroysOnError ? asError(error) : undefined);
        throw error;
      }
    },
  };
}
