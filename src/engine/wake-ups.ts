import { type Clock, pause } from "../clock.ts";
import type { Listener } from "../driver/connection.ts";
import type { Log } from "../log.ts";
import { orAbort, timeLimit } from "../time-limit.ts";
import { Backoff } from "./backoff.ts";
import { MAX_BACKOFF_MS } from "./claim-loop.ts";
import { Outage } from "./outage.ts";

/**
 * Keeps one listening connection until the signal aborts: opens it, and opens another when it is lost.
 * Notifications only wake; polling finds what they miss, and a reconnect wakes once for what may have
 * been missed meanwhile.
 */
export async function listenUntil(signal: AbortSignal, settings: WakeUpSettings): Promise<void> {
  const { clock, log, fields, open, wake } = settings;
  const outage = new Outage(log, "listening for notifications", "listen_failed", fields);
  const backoff = new Backoff(1000, MAX_BACKOFF_MS);
  while (!signal.aborted) {
    try {
      const lost = new AbortController();
      const listener: Listener = { notified: wake, lost: (error) => lost.abort(error) };
      const close = await orAbort(open(listener), signal, (late) => void late().catch(() => {}));
      outage.succeeded();
      backoff.reset();
      wake();
      await firstAbort(signal, lost.signal);
      await closeInTime(clock, close);
      if (!signal.aborted) throw lost.signal.reason;
    } catch (error) {
      if (signal.aborted) return;
      const delayMs = backoff.next();
      outage.failed(error, delayMs);
      await pause(clock, delayMs, signal);
    }
  }
}

export interface WakeUpSettings {
  readonly clock: Clock;
  readonly log: Log;
  readonly fields: Record<string, unknown>;
  open(listener: Listener): Promise<() => Promise<void>>;
  /** `channel` is there where there are several. Without a payload: all may have missed some. */
  wake(payload?: string, channel?: string): void;
}

/** Nobody waits long for a connection to say goodbye that may be dead. */
async function closeInTime(clock: Clock, close: () => Promise<void>): Promise<void> {
  const limit = timeLimit(clock, CLOSE_LIMIT_MS, "the listening connection did not close");
  try {
    await orAbort(close(), limit.signal);
  } catch {
    // It is gone, or will be: polling is what finds rows.
  } finally {
    limit.cancel();
  }
}

const CLOSE_LIMIT_MS = 2000;

function firstAbort(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (signals.some((each) => each.aborted)) {
      resolve();
      return;
    }
    const end = () => {
      for (const each of signals) each.removeEventListener("abort", end);
      resolve();
    };
    for (const each of signals) each.addEventListener("abort", end, { once: true });
  });
}
