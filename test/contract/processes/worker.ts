/** A service's process with an inbox worker, as a test runs it; see protocol.ts. */
import {
  type InboxMessage,
  type InboxTransaction,
  InboxWorker,
} from "../../../src/queuebox/index.ts";
import { EFFECT } from "../../support/inbox.ts";
import { connectAs } from "./connect.ts";
import { endWell, endWithTest } from "./ending.ts";
import type { WorkerHears, WorkerSays, WorkerSettings } from "./protocol.ts";

const settings: WorkerSettings = JSON.parse(process.argv[2] ?? "");
const stop = new AbortController();
const holding = new Map<string, () => void>();

process.on("message", (message: WorkerHears) => {
  if ("stop" in message) stop.abort();
  else holding.get(message.go)?.();
});
process.on("SIGTERM", () => stop.abort());
endWithTest();

const { source, end } = connectAs(settings.kind, settings.url, settings.connections);
const worker = new InboxWorker(source, {
  ...settings.options,
  logger: { info: log, warn: log, error: log },
});
tell({ say: "ready" });
await worker.run(handle, stop.signal);
await end();
tell({ say: "stopped" });
endWell();

async function handle(
  message: InboxMessage,
  tx: InboxTransaction,
  signal: AbortSignal,
): Promise<void> {
  const { wait, heedsSignal, writes } = settings.handler;
  const key = message.idempotencyKey;
  const from = process.hrtime.bigint();
  const go = wait === "hold" ? told(key) : undefined;
  if (go !== undefined) tell({ say: "started", key, attempt: message.attempt });
  try {
    if (writes) await tx.query(EFFECT, [key]);
    if (go !== undefined) await go;
    else if (typeof wait === "object")
      await pause(wait.randomMs * Math.random(), heedsSignal ? signal : undefined);
  } finally {
    const to = process.hrtime.bigint();
    const window = { key, aggregate: message.aggregateId, wasAborted: signal.aborted };
    tell({ say: "ended", ...window, from: String(from), to: String(to) });
  }
}

function told(key: string): Promise<void> {
  return new Promise((resolve) => {
    holding.set(key, resolve);
  });
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

function log(_message: string, fields: Record<string, unknown> = {}): void {
  tell({ say: "log", event: String(fields["event"]), id: fields["id"] });
}

function tell(what: WorkerSays): void {
  if (process.connected) process.send?.(what);
}
