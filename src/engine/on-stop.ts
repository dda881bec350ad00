import { setMaxListeners } from "node:events";

/**
 * Calls `stop` once the service's signal aborts, at once where it has; answers what takes that back. Any
 * number of workers and brokers may share a signal, so Node has no leak to suspect in their listeners.
 */
export function onStop(signal: AbortSignal | undefined, stop: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) stop();
  if (signal instanceof EventTarget) setMaxListeners(0, signal);
  signal.addEventListener("abort", stop, { once: true });
  return () => signal.removeEventListener("abort", stop);
}
