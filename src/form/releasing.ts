import { type Clock, pause } from "../clock.ts";
import { withConnection } from "../driver/checkout.ts";
import type { Connection, ConnectionSource } from "../driver/connection.ts";
import { Backoff } from "../engine/backoff.ts";
import type { Log } from "../log.ts";
import { timeLimit } from "../time-limit.ts";

/**
 * Makes leased rows claimable again at once. A row that somebody holds a lock on is not waited for, but
 * tried again for a while. Best effort: what cannot be released comes back when its lease ends, and the
 * log says so.
 */
export async function releaseAll<R extends { readonly id: string }>(
  settings: ReleaseSettings<R>,
  rows: readonly R[],
): Promise<void> {
  const { at, clock, leaseMs, releaseOn, source } = settings;
  const limit = timeLimit(clock, leaseMs, "the release was not answered in time");
  let left = rows;
  let error: unknown;
  try {
    const backoff = new Backoff(20, 320);
    for (let tries = 0; left.length > 0 && tries < RELEASE_TRIES; tries += 1) {
      if (tries > 0) await pause(clock, backoff.next(), limit.signal);
      const round = left;
      const released = await (at === undefined
        ? withConnection(source, limit.signal, (each) => releaseOn(each, round))
        : releaseOn(at, round));
      left = round.filter(({ id }) => !released.has(id));
    }
  } catch (thrown) {
    error = thrown;
  } finally {
    limit.cancel();
  }
  if (left.length === 0) return;
  settings.log.warn(
    "messages could not be given back (locked, or not this worker's any more); they come again when their leases end",
    { event: "release_failed", ...settings.fields, ids: left.map(({ id }) => id), error },
  );
}

export interface ReleaseSettings<R> {
  readonly source: ConnectionSource;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly log: Log;
  readonly fields: Record<string, unknown>;
  /** A connection that is at hand; left out, it takes one. */
  readonly at?: Connection | undefined;
  /** Releases rows, and answers the ids of those that were. */
  releaseOn(connection: Connection, rows: readonly R[]): Promise<ReadonlySet<string>>;
}

/** With the waits between them about a second. */
const RELEASE_TRIES = 6;
