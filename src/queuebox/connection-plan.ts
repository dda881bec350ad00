import type { ConnectionSource } from "../driver/connection.ts";
import { checkNumber, MAX_INT32 } from "../options.ts";
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
  { max, listensApart = false }: Pick<ConnectionSource, "max" | "listensApart">,
  options: ResolvedInboxOptions,
): ConnectionPlan {
  const { batchSize, listenNotify, maxConcurrency } = options;
  if (max === undefined) return { slots: maxConcurrency, inHand: batchSize, canRenew: true };
  checkNumber("connections.max", max, { min: 1, max: MAX_INT32 });
  const available = listenNotify && !listensApart ? max - 1 : max;
  if (available < 1) {
    throw new RangeError(
      `listenNotify holds one connection, and connections.max is ${max}: it takes at least 2, better ${maxConcurrency + 2}`,
    );
  }
  if (available === 1) return { slots: 1, inHand: 1, canRenew: false };
  return { slots: Math.min(maxConcurrency, available - 1), inHand: batchSize, canRenew: true };
}
