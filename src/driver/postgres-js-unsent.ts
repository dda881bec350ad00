import type { PostgresJsRunner, PostgresJsWire } from "./postgres-js-types.ts";

/*
 * postgres.js (3.4.9) gathers what it writes until the turn of the event loop ends, or 1,024 bytes are
 * there. A connection that closes between the two keeps the bytes and calls off the write, but goes on
 * taking it for planned: in the next connection of that slot the first words wait behind those bytes,
 * for a write that never comes, and whoever got the slot waits until `connect_timeout`, several times.
 *
 * Nothing outside can empty the buffer. But filled past its limit it goes out with the first words of
 * the next connection. The server takes no such greeting and closes, and the library, which has a query
 * waiting for that connection, connects again: with an empty buffer.
 */

/** Connections that have been given a query in this turn of the event loop. */
const unsent = new WeakSet<PostgresJsWire>();
const watched = new WeakSet<PostgresJsWire>();

/** More than the library gathers. */
const FILLER = " ".repeat(1_024);

/** Notes from now on what the connection is given to write. */
export function watchWrites(wire: PostgresJsWire): void {
  if (watched.has(wire)) return;
  watched.add(wire);
  const { execute } = wire;
  wire.execute = (query) => {
    try {
      return execute(query);
    } finally {
      if (!unsent.has(wire)) {
        unsent.add(wire);
        setImmediate(() => unsent.delete(wire));
      }
    }
  };
}

/** Resolves when all that the connection was given is written. */
export async function whenWritten(wire: PostgresJsWire): Promise<void> {
  if (unsent.has(wire)) await new Promise((resolve) => setImmediate(resolve));
}

/** Makes a connection that has just closed fit to open again; to be called as it closes. */
export function mendUnsent(sql: PostgresJsRunner, wire: PostgresJsWire): void {
  if (!unsent.has(wire)) return;
  const filler = sql.unsafe(FILLER, [], { simple: true });
  filler.handler = () => {};
  filler.then(
    () => {},
    () => {},
  );
  try {
    wire.execute(filler);
  } catch {
    // There is no socket to write to: the buffer has it.
  }
  // Rejects the filler, which would be waited for on the next connection.
  wire.terminate();
}
