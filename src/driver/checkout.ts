import { systemClock } from "../clock.ts";
import { asError } from "../errors.ts";
import { orAbort, timeLimit } from "../time-limit.ts";
import type { Connection, ConnectionSource } from "./connection.ts";

/** A connection, or the signal's reason if that comes first; one that arrives late goes straight back. */
export async function checkOut(source: ConnectionSource, signal: AbortSignal): Promise<Connection> {
  const coming = source.connect(signal);
  try {
    const connection = await orAbort(coming, signal);
    origins.set(connection, source);
    return connection;
  } catch (error) {
    comesBack(
      source,
      coming.then((late) => giveBack(late)),
    );
    throw error;
  }
}

/**
 * Resolves when no connection of the source is on its way here or back for which nobody waits, or when
 * that takes too long.
 */
export async function untilReturned(source: ConnectionSource): Promise<void> {
  await inTime(async () => void (await Promise.all(returning.get(source) ?? [])));
}

/** What nobody waits for, by the source that lent it. */
const returning = new WeakMap<ConnectionSource, Set<Promise<void>>>();
const origins = new WeakMap<Connection, ConnectionSource>();

function comesBack(source: ConnectionSource | undefined, goodbye: Promise<void>): void {
  if (source === undefined) return;
  const all = returning.get(source) ?? new Set();
  returning.set(source, all);
  const over = goodbye
    .catch(() => {})
    .finally(() => {
      all.delete(over);
    });
  all.add(over);
}

/**
 * Releases a connection: whole without an error, in doubt with one. One in doubt is rolled back first
 * where nobody knows that its source destroys it. The caller does not wait for that, and it has a limit:
 * a rollback may stand behind a statement that never ends. A release that fails is no news: the work on
 * the connection is over, and the pool knows what it lost.
 */
export async function giveBack(connection: Connection, error?: Error): Promise<void> {
  if (error === undefined || connection.destroysOnError === true) {
    await release(connection, error);
    return;
  }
  comesBack(
    origins.get(connection),
    inTime(() => connection.rollback()).then(() => release(connection, error)),
  );
}

async function release(connection: Connection, error: Error | undefined): Promise<void> {
  await inTime(() => (error === undefined ? connection.release() : connection.release(error)));
}

/** Ends when the goodbye does, however it does, or when it takes too long. */
async function inTime(sayGoodbye: () => void | Promise<void>): Promise<void> {
  try {
    const goodbye = sayGoodbye();
    if (goodbye === undefined) return;
    const limit = timeLimit(systemClock, GOODBYE_LIMIT_MS, "the goodbye was not answered");
    await orAbort(goodbye, limit.signal).finally(() => limit.cancel());
  } catch {
    // See above.
  }
}

/** Nobody waits longer than this for a rollback or a release of a connection in doubt. */
const GOODBYE_LIMIT_MS = 2000;

/**
 * Runs something on a connection of its own. Whatever goes wrong there puts the connection in doubt, and
 * so does the signal's abort, which frees whoever waits for an answer on it.
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
