import type { ConnectionSource } from "../driver/connection.ts";
import { checkNumber, MAX_INT32 } from "../options.ts";

/** What a subscription, or a worker, would have of its source. */
export interface ConnectionWish {
  /** Handlers side by side. */
  readonly handlers: number;
  /** Each running handler holds a connection. */
  readonly holds: boolean;
  /** What a running handler asks for a second connection for, in words: `reply of emails`. */
  readonly alsoTakes?: string | undefined;
}

/** What it gets. */
export interface ConnectionShare {
  readonly handlers: number;
  /** One connection stays free for renewals, claims and settlements while handlers run. */
  readonly canRenew: boolean;
}

/**
 * Shares out the connections of a source. Handlers never take the last one: it renews leases, and serves
 * whoever publishes. Every wish gets one handler at least; where that is one too many, they wait for each
 * other. A source of one connection works one row at a time, without renewal while it is held.
 *
 * @param listeners connections that listen for notifications.
 * @throws RangeError where the source has too few connections for that, with the number it takes.
 */
export function shareConnections(
  { max, listensApart = false }: Pick<ConnectionSource, "max" | "listensApart">,
  wishes: readonly ConnectionWish[],
  listeners: number,
): readonly ConnectionShare[] {
  if (max === undefined) return wishes.map(({ handlers }) => ({ handlers, canRenew: true }));
  checkNumber("connections.max", max, { min: 1, max: MAX_INT32 });
  const available = listensApart ? max : max - listeners;
  const held = wishes.reduce((sum, wish) => sum + (wish.holds ? wish.handlers : 0), 0);
  if (available < 1) {
    throw new RangeError(
      `listenNotify holds one connection, and connections.max is ${max}: it takes at least ${listeners + 1}, better ${held + listeners + 1}`,
    );
  }
  const second = wishes.find(({ alsoTakes, holds }) => holds && alsoTakes !== undefined)?.alsoTakes;
  if (available === 1 && second !== undefined) {
    throw new RangeError(
      `${second} takes a connection while its handler holds one, and connections.max is ${max}: it takes at least ${max + 1}, or transactional: true`,
    );
  }
  const canRenew = available > 1;
  const shares = wishes.map(({ handlers, holds }) => (holds ? 1 : handlers));
  let left = available - 1 - wishes.filter(({ holds }) => holds).length;
  for (let isGiven = true; left > 0 && isGiven; ) {
    isGiven = false;
    for (const [index, { handlers, holds }] of wishes.entries()) {
      const share = shares[index] ?? handlers;
      if (!holds || share >= handlers || left === 0) continue;
      shares[index] = share + 1;
      left -= 1;
      isGiven = true;
    }
  }
  return wishes.map(({ handlers, holds }, index) => ({
    handlers: shares[index] ?? handlers,
    canRenew: canRenew || !holds,
  }));
}
