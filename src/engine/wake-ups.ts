import { type Clock, pause } from "../clock.ts";
import type { Log } from "../log.ts";
import { Backoff } from "./backoff.ts";
import { MAX_BACKOFF_MS } from "./engine.ts";
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
      const stop = await open({ notified: wake, lost: (error) => lost.abort(error) });
      outage.succeeded();
      backoff.reset();
      wake();
      await firstAbort(signal, lost.signal);
      await stop();
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
  open(listener: {
    notified(payload: string): void;
    lost(error: Error): void;
  }): Promise<() => Promise<void>>;
  wake(payload?: string): void;
}

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
