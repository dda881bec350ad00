import type { Dialect } from "../dialect/dialect.ts";
import type { ConnectionSource, Listener } from "../driver/connection.ts";
import { listenUntil } from "../engine/wake-ups.ts";
import { tableLabel } from "../table/description.ts";
import { sentence } from "../table/sentences.ts";
import type { BrokerContext, QueueSubscription } from "./subscription.ts";

/**
 * Wakes subscriptions by notifications of other processes, until the signal aborts: the channel is the
 * table's, the payload a group, and an empty one (or a reconnect, which may have missed some) wakes all of
 * the table.
 */
export async function listenForAll(
  { dialect, log, options, source }: BrokerContext,
  subscriptions: readonly QueueSubscription[],
  signal: AbortSignal,
): Promise<void> {
  const byChannel = subscriptionsByChannel(dialect, subscriptions);
  const wake = (payload: string | undefined, channel: string) => {
    for (const subscription of byChannel.get(channel) ?? []) {
      if (isMeant(subscription, payload)) subscription.wake();
    }
  };
  const channels = [...byChannel.keys()];
  const listening = sharedConnections(source, channels).map((shared) =>
    listenUntil(signal, {
      clock: options.clock,
      log,
      fields: { channels: shared },
      open: (listener) => listenOn(source, shared, listener),
      wake: (payload, channel) => {
        for (const each of channel === undefined ? shared : [channel]) wake(payload, each);
      },
    }),
  );
  await Promise.all(listening);
}

/** How many connections {@link listenForAll} takes. */
export function listeningConnections(
  source: ConnectionSource,
  dialect: Dialect,
  subscriptions: readonly QueueSubscription[],
): number {
  const channels = [...subscriptionsByChannel(dialect, subscriptions).keys()];
  return sharedConnections(source, channels).length;
}

/** The channels of each connection: all of them where the source can, else one. */
function sharedConnections(
  source: ConnectionSource,
  channels: readonly string[],
): readonly (readonly string[])[] {
  if (channels.length === 0) return [];
  return source.listenAll === undefined ? channels.map((channel) => [channel]) : [channels];
}

async function listenOn(
  source: ConnectionSource,
  channels: readonly string[],
  listener: Listener,
): Promise<() => Promise<void>> {
  const [channel] = channels;
  if (source.listenAll !== undefined) return await source.listenAll(channels, listener);
  if (source.listen === undefined || channel === undefined) {
    throw new TypeError("the connection source has no method listen");
  }
  return await source.listen(channel, listener);
}

/**
 * @throws RangeError where the database or the source cannot listen, TypeError where a channel's name is
 * too long.
 */
export function checkListening(dialect: Dialect, source: ConnectionSource): void {
  if (!dialect.features.listenNotify) {
    throw new TypeError(sentence("noListening", { database: dialect.name }));
  }
  if (source.listen === undefined) {
    throw new TypeError("listenNotify takes a connection source that has a method listen");
  }
}

function subscriptionsByChannel(
  dialect: Dialect,
  subscriptions: readonly QueueSubscription[],
): ReadonlyMap<string, readonly QueueSubscription[]> {
  const byChannel = new Map<string, QueueSubscription[]>();
  for (const subscription of subscriptions) {
    const { table } = subscription.queue;
    const channel = dialect.channel?.(table) ?? tableLabel(table);
    const others = byChannel.get(channel);
    if (others === undefined) byChannel.set(channel, [subscription]);
    else others.push(subscription);
  }
  return byChannel;
}

function isMeant({ queue }: QueueSubscription, payload: string | undefined): boolean {
  return (
    payload === undefined || payload === "" || queue.groups !== "one" || queue.group === payload
  );
}
