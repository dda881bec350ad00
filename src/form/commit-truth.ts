import { type Clock, pause } from "../clock.ts";
import { bind } from "../dialect/bind.ts";
import type { Dialect } from "../dialect/dialect.ts";
import { withConnection } from "../driver/checkout.ts";
import type { ConnectionSource } from "../driver/connection.ts";
import { runSteps } from "../driver/run-steps.ts";
import { Backoff } from "../engine/backoff.ts";
import { timeLimit } from "../time-limit.ts";
import { tryForALease } from "./trying-again.ts";

/**
 * What became of a transaction whose COMMIT was not answered, by its own id. While it is in progress
 * (a server may take its time to notice that the client is gone), it asks again, for the length of a
 * lease. Never rejects.
 */
export async function didCommit(
  settings: TruthSettings,
  id: string | undefined,
): Promise<"committed" | "not committed" | "unknown"> {
  const { clock, dialect, ended, leaseMs, source } = settings;
  const status = dialect.transactions?.status;
  if (id === undefined || status === undefined) return "unknown";
  const until = clock.monotonic() + leaseMs;
  const backoff = new Backoff(20, 1000);
  const trying = { clock, ended, leaseMs, isFinal: () => false };
  for (;;) {
    let answer: string | null | undefined;
    const limit = timeLimit(clock, leaseMs, "nobody said in time what became of the commit");
    try {
      const results = await tryForALease(trying, () =>
        withConnection(source, limit.signal, (connection) =>
          runSteps<{ status: string | null }>(connection, [bind(status, { id })]),
        ),
      );
      answer = results[0]?.rows[0]?.status;
    } catch {
      return "unknown";
    } finally {
      limit.cancel();
    }
    if (answer === "committed") return "committed";
    if (answer === "aborted") return "not committed";
    if (answer !== "in progress") return "unknown";
    if (clock.monotonic() >= until || ended.aborted) return "unknown";
    await pause(clock, backoff.next(), ended);
  }
}

export interface TruthSettings {
  readonly source: ConnectionSource;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly ended: AbortSignal;
}
