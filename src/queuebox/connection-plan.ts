import type { ConnectionSource } from "../driver/connection.ts";
import { shareConnections } from "../form/connection-plan.ts";
import type { ResolvedInboxOptions } from "./options.ts";

/** How a worker shares out the connections of its source. */
export interface ConnectionPlan {
  /** Handlers side by side. */
  readonly slots: number;
  /** Messages in hand at once, running and waiting. */
  readonly inHand: number;
  /** One connection stays free for renewals, claims and settlements while handlers run. */
  readonly canRenew: boolean;
}

/**
 * Handlers never take the last connection: it renews their leases. A source of one connection works
 * one message at a time, without renewal, and takes no more in hand than that.
 *
 * @throws RangeError where the source has too few connections for these options.
 */
export function planConnections(
  source: Pick<ConnectionSource, "max" | "listensApart">,
  { batchSize, listenNotify, maxConcurrency }: ResolvedInboxOptions,
): ConnectionPlan {
  const wish = { handlers: maxConcurrency, holds: true };
  const [share] = shareConnections(source, [wish], listenNotify ? 1 : 0);
  if (share === undefined) throw new Error("no share for the only wish");
  const { canRenew, handlers } = share;
  return { slots: handlers, inHand: canRenew ? batchSize : 1, canRenew };
}
