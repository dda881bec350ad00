import { withConnection } from "../driver/checkout.ts";
import type { Connection } from "../driver/connection.ts";
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
 * Makes messages claimable again at once, their attempts as they were before the claim. Best effort:
 * what cannot be released comes back when its lease ends.
 */
export async function releaseLeases(
  context: InboxContext,
  deliveries: readonly InboxDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const { log, options, source } = context;
  const limit = timeLimit(options.clock, options.leaseMs, "the release was not answered in time");
  try {
    await withConnection(source, limit.signal, (connection) =>
      releaseOn(connection, context, deliveries),
    );
  } catch (error) {
    log.warn("messages could not be given back; they come again when their leases end", {
      event: "release_failed",
      ...context.fields,
      ids: deliveries.map(({ id }) => id),
      error,
    });
  } finally {
    limit.cancel();
  }
}

/** The same on a connection that is at hand; rejects when it fails. */
export async function releaseOn(
  connection: Connection,
  { dialect, statements }: InboxContext,
  deliveries: readonly InboxDelivery[],
): Promise<void> {
  await runStatement(connection, statements.releaseAll, {
    ids: dialect.list(deliveries.map(({ id }) => id)),
    tokens: dialect.list(deliveries.map(({ token }) => token)),
    charges: dialect.list(deliveries.map(({ charged }) => charged)),
  });
}
