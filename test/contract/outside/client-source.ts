/** A source of connections as a service writes it: nothing is imported but the package's entry points. */
import pg from "pg";
import type { Connection, ConnectionSource, QueryResult } from "../../../src/index.ts";

/** What is not known of a source that somebody else wrote, told by its own counters. */
export interface ClientSource extends ConnectionSource<"postgres"> {
  /** How many connections were given back with an error. */
  readonly destroyed: number;
  /** The most that were out at once. */
  readonly mostOut: number;
  end(): Promise<void>;
}

/**
 * Up to `max` clients. `release(error)` destroys; there is neither pipelining nor listening, and no client
 * for ORMs.
 */
export function clientSource(url: string, max: number): ClientSource {
  const pool = new pg.Pool({ connectionString: url, max, application_name: "outside" });
  pool.on("error", () => {});
  let out = 0;
  const counts = { destroyed: 0, mostOut: 0 };
  return {
    max,
    database: "postgres",
    get destroyed() {
      return counts.destroyed;
    },
    get mostOut() {
      return counts.mostOut;
    },
    async connect(): Promise<Connection> {
      const client = await pool.connect();
      // Of a session that ends while nobody asks it anything.
      const ignored = () => {};
      client.on("error", ignored);
      out += 1;
      counts.mostOut = Math.max(counts.mostOut, out);
      const query = async <Row>(
        text: string,
        params: readonly unknown[] = [],
      ): Promise<QueryResult<Row>> => {
        const { rowCount, rows } = await client.query(text, [...params]);
        return { rows, rowCount: rowCount ?? 0 };
      };
      return {
        destroysOnError: true,
        query,
        begin: async () => void (await query("BEGIN")),
        commit: async () => void (await query("COMMIT")),
        rollback: async () => void (await query("ROLLBACK")),
        release(error) {
          out -= 1;
          if (error !== undefined) counts.destroyed += 1;
          client.off("error", ignored);
          client.release(error);
        },
      };
    },
    end: () => pool.end(),
  };
}
