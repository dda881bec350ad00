import { asError } from "../errors.ts";
import type { Listener } from "./connection.ts";
import { destroy } from "./pg-connection.ts";
import { isWireClient, type PgClientLike, type PgNotificationLike } from "./pg-types.ts";

/** How long UNLISTEN may take before the connection is destroyed instead, in milliseconds. */
const UNLISTEN_MS = 1_000;

/** After how long a silent connection is asked whether the other end is still there. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Listens on a client that is already checked out and gives it back at the end. `channels` has each
 * channel's name as SQL beside it.
 *
 *     starting --LISTEN--> listening --stop--> over
 *         \____________________\___error, end__/
 */
export async function listenOnClient(
  client: PgClientLike,
  channels: ReadonlyMap<string, string>,
  listener: Listener,
): Promise<() => Promise<void>> {
  let state: "starting" | "listening" | "over" = "starting";
  let failure: Error | undefined;

  const onNotification = (message: PgNotificationLike) => {
    if (state === "over" || !channels.has(message.channel)) return;
    listener.notified(message.payload ?? "", message.channel);
  };
  const lose = (error: Error) => {
    failure ??= error;
    if (state !== "listening") return;
    leave(failure);
    listener.lost(failure);
  };
  const onEnd = () => lose(new Error("the listening connection was closed"));
  /** Gives the client back, destroyed where there is an error. */
  const leave = (error?: Error) => {
    state = "over";
    client.removeListener("notification", onNotification);
    client.removeListener("end", onEnd);
    if (error !== undefined) return destroy(client, error);
    client.release();
    client.removeListener("error", lose);
  };

  client.on("error", lose);
  client.on("end", onEnd);
  client.on("notification", onNotification);
  try {
    for (const quoted of channels.values()) await client.query(`LISTEN ${quoted}`);
    if (failure !== undefined) throw failure;
  } catch (error) {
    leave(asError(error));
    throw error;
  }
  state = "listening";
  noticeDeadNetwork(client);

  return async () => {
    if (state === "over") return;
    state = "over";
    try {
      await withinTime(unlisten(client, channels.values()));
    } catch (error) {
      return leave(asError(error));
    }
    leave(failure);
  };
}

async function unlisten(client: PgClientLike, quoted: Iterable<string>): Promise<void> {
  for (const each of quoted) await client.query(`UNLISTEN ${each}`);
}

/** A listener sends nothing, so without this it would never find out that the network is gone. */
function noticeDeadNetwork(client: PgClientLike): void {
  if (!isWireClient(client)) return;
  const { stream } = client.connection;
  if ("setKeepAlive" in stream && typeof stream.setKeepAlive === "function") {
    stream.setKeepAlive(true, KEEP_ALIVE_MS);
  }
}

async function withinTime(unlisten: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("UNLISTEN took too long")), UNLISTEN_MS);
  });
  try {
    await Promise.race([unlisten, late]);
  } finally {
    clearTimeout(timer);
  }
}
