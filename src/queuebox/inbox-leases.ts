import { withConnection } from "../driver/checkout.ts";
import type { Connection } from "../driver/connection.ts";
import type { Extension } from "../engine/lease-keeper.ts";
import { releaseAll } from "../form/releasing.ts";
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
 * Makes messages claimable again at once, their attempts as they were before the claim. Best effort; see
 * {@link releaseAll}.
 *
 * @param at a connection that is at hand; left out, it takes one.
 */
export function releaseLeases(
  context: InboxContext,
  deliveries: readonly InboxDelivery[],
  at?: Connection,
): Promise<void> {
  const { fields, log, options, source } = context;
  const { clock, leaseMs } = options;
  const releaseOn = (connection: Connection, round: readonly InboxDelivery[]) =>
    releaseRows(connection, context, round);
  return releaseAll({ at, clock, fields, leaseMs, log, releaseOn, source }, deliveries);
}

/** Answers which were released. */
async function releaseRows(
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
