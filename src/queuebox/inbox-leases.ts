import { pause } from "../clock.ts";
import { withConnection } from "../driver/checkout.ts";
import type { Connection } from "../driver/connection.ts";
import { Backoff } from "../engine/backoff.ts";
import type { Extension } from "../engine/lease-keeper.ts";
import { timeLimit } from "../time-limit.ts";
import { type InboxContext, runStatement } from "./inbox-context.ts";
import type { InboxDelivery } from "./inbox-delivery.ts";

/** Extends the leases of all these messages in one statement that waits for nobody's row lock. */
export async function extendLeases(
  context: InboxContext,
  deliveries: readonly InboxDelivery[],
  signal: AbortSignal,
): Promise<ReadonlyMap<InboxDelivery, Extension>> {
  const { dialect, options, source, statements } = context;
  const values = {
    leaseMs: options.leaseMs,
    ids: dialect.list(deliveries.map(({ id }) => id)),
    tokens: dialect.list(deliveries.map(({ token }) => token)),
  };
  const { rows } = await withConnection(source, signal, (connection) =>
    runStatement<{ id: string; outcome: Extension }>(connection, statements.renewAll, values),
  );
  const outcomes = new Map(rows.map(({ id, outcome }) => [id, outcome]));
  return new Map(deliveries.map((each) => [each, outcomes.get(each.id) ?? "lost"]));
}

/**
 * Makes messages claimable again at once, their attempts as they were before the claim. A row that
 * somebody holds a lock on is not waited for, but tried again for a while. Best effort: what cannot be
 * released comes back when its lease ends, and the log says so.
 *
 * @param at a connection that is at hand; left out, it takes one.
 */
export async function releaseLeases(
  context: InboxContext,
  deliveries: readonly InboxDelivery[],
  at?: Connection,
): Promise<void> {
  const { clock, leaseMs } = context.options;
  const limit = timeLimit(clock, leaseMs, "the release was not answered in time");
  let left = deliveries;
  let error: unknown;
  try {
    const backoff = new Backoff(20, 320);
    for (let tries = 0; left.length > 0 && tries < RELEASE_TRIES; tries += 1) {
      if (tries > 0) await pause(clock, backoff.next(), limit.signal);
      const round = left;
      const released = await (at === undefined
        ? withConnection(context.source, limit.signal, (each) => releaseOn(each, context, round))
        : releaseOn(at, context, round));
      left = round.filter(({ id }) => !released.has(id));
    }
  } catch (thrown) {
    error = thrown;
  } finally {
    limit.cancel();
  }
  if (left.length === 0) return;
  context.log.warn(
    "messages could not be given back (locked, or not this worker's any more); they come again when their leases end",
    { event: "release_failed", ...context.fields, ids: left.map(({ id }) => id), error },
  );
}

/** With the waits between them about a second. */
const RELEASE_TRIES = 6;

/** Answers which were released. */
async function releaseOn(
  connection: Connection,
  { dialect, statements }: InboxContext,
  deliveries: readonly InboxDelivery[],
): Promise<ReadonlySet<string>> {
  const { rows } = await runStatement<{ id: string }>(connection, statements.releaseAll, {
    ids: dialect.list(deliveries.map(({ id }) => id)),
    tokens: dialect.list(deliveries.map(({ token }) => token)),
    charges: dialect.list(deliveries.map(({ charged }) => charged)),
  });
  return new Set(rows.map(({ id }) => id));
}
