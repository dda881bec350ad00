import { asError } from "../errors.ts";
import { hasMethods, isObject } from "../options.ts";
import { quoteChannel } from "./channel.ts";
import type { Listener } from "./connection.ts";
import type { PostgresJsSqlLike } from "./postgres-js-types.ts";

/**
 * Listens through postgres.js, which keeps one more connection for all channels of an `sql`.
 *
 * When that connection is lost, the library listens anew once, and if this fails nobody ever hears of
 * it. So our part of it is taken out at the loss and the loss is told; whoever listens starts again.
 * Where the library's inner `sql` is not found, its own reconnect stands, and each time it has listened
 * anew an empty notification is told, since some may have been missed.
 */
export async function listenThroughSql(
  sql: PostgresJsSqlLike,
  channel: string,
  listener: Listener,
): Promise<() => Promise<void>> {
  // The library quotes by itself; this refuses what it could not listen on.
  quoteChannel(channel);
  let state: "starting" | "listening" | "over" = "starting";
  const onNotify = (payload: string) => {
    if (state !== "over") listener.notified(payload);
  };
  const onListen = () => {
    if (state === "listening") listener.notified("");
  };

  const internals = () => innerOf(sql.listen);
  const lose = () => {
    internals()?.drop(channel, onNotify);
    if (state !== "listening") return;
    state = "over";
    listener.lost(new Error("the listening connection was closed"));
  };

  let unlisten: () => Promise<unknown>;
  try {
    const listening = await sql.listen(channel, onNotify, onListen);
    unlisten = () => listening.unlisten();
  } catch (error) {
    // The library would keep the failed LISTEN and answer the next one on this channel with it.
    internals()?.drop(channel, onNotify);
    await internals()?.endIfUnused();
    throw asError(error);
  }
  state = "listening";
  const stopWatching = internals()?.onClose(lose);

  return async () => {
    if (state !== "listening") return;
    state = "over";
    stopWatching?.();
    await unlisten();
    await internals()?.endIfUnused();
  };
}

/** What `sql.listen` keeps on itself. */
interface ListenInternals {
  drop(channel: string, onNotify: (payload: string) => void): void;
  onClose(react: () => void): () => void;
  /** Ends the listening connection when no channel is left, so that the process can exit. */
  endIfUnused(): Promise<void>;
}

type Channels = Record<string, { listeners: { fn: unknown }[] } | undefined>;

/** Who reacts to the close of each inner sql's connection. */
const reactions = new WeakMap<object, Set<() => void>>();

function innerOf(listen: unknown): ListenInternals | undefined {
  if (typeof listen !== "function" || !("sql" in listen) || !("channels" in listen))
    return undefined;
  const { sql, channels } = listen;
  if (!hasMethods(sql, ["end"]) || !("options" in sql) || !isObject(sql.options)) return undefined;
  if (!isChannels(channels)) return undefined;
  const { options } = sql;
  return {
    drop(channel, onNotify) {
      const entry = channels[channel];
      if (entry === undefined) return;
      entry.listeners = entry.listeners.filter((each) => each.fn !== onNotify);
      if (entry.listeners.length === 0) delete channels[channel];
    },
    onClose(react) {
      const all = reactions.get(options) ?? watchClose(options);
      all.add(react);
      return () => void all.delete(react);
    },
    async endIfUnused() {
      if (Object.keys(channels).length > 0 || Reflect.get(listen, "sql") !== sql) return;
      // The library makes a new one when it is needed.
      Reflect.set(listen, "sql", undefined);
      await sql.end({ timeout: 0 });
    },
  };
}

/** Reacts before the library listens anew, so that what is dropped stays dropped. */
function watchClose(options: object): Set<() => void> {
  const all = new Set<() => void>();
  reactions.set(options, all);
  const original: unknown = Reflect.get(options, "onclose");
  Reflect.set(options, "onclose", (...args: unknown[]) => {
    const reacting = [...all];
    all.clear();
    for (const react of reacting) react();
    if (typeof original === "function") Reflect.apply(original, options, args);
  });
  return all;
}

function isChannels(value: unknown): value is Channels {
  if (!isObject(value)) return false;
  return Object.values(value).every(
    (entry) => isObject(entry) && "listeners" in entry && Array.isArray(entry.listeners),
  );
}
