import { asError } from "../errors.ts";
import { orAbort } from "../time-limit.ts";
import type { Connection, ConnectionSource } from "./connection.ts";

/** A connection, or the signal's reason if that comes first; one that arrives late goes straight back. */
export function checkOut(source: ConnectionSource, signal: AbortSignal): Promise<Connection> {
  return orAbort(source.connect(signal), signal, (late) => void giveBack(late));
}

/**
 * Releases a connection: whole without an error, to be destroyed with one. A release that fails is no
 * news for anybody: the work on the connection is over, and the pool knows what it lost.
 */
export async function giveBack(connection: Connection, error?: Error): Promise<void> {
  try {
    await (error === undefined ? connection.release() : connection.release(error));
  } catch {
    // See above.
  }
}

/**
 * Runs something on a connection of its own. Whatever goes wrong there destroys the connection: one
 * in doubt never goes back to the pool. When the signal aborts, the connection is destroyed too, which
 * frees whoever waits for an answer on it.
 */
export async function withConnection<T>(
  source: ConnectionSource,
  signal: AbortSignal,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await checkOut(source, signal);
  try {
    const result = await orAbort(use(connection), signal);
    await giveBack(connection);
    return result;
  } catch (error) {
    await giveBack(connection, asError(error));
    throw error;
  }
}
