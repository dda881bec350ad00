import { pause } from "../clock.ts";
import { withConnection } from "../driver/checkout.ts";
import { Backoff } from "../engine/backoff.ts";
import { timeLimit } from "../time-limit.ts";
import { runAlone } from "./actions.ts";
import type { LeaseContext } from "./lease-context.ts";
import type { LeaseDelivery, LeasedRow } from "./lease-delivery.ts";
import { tryForALease } from "./trying-again.ts";

/**
 * What became of a settlement that was not answered, told by the rows themselves. While a transaction
 * that has not ended holds one, it asks again: until the lease is over, and then for the length of
 * another. A row that is simply not ours any more proves that we settled it only while our lease
 * certainly lasts: nobody else can have had it then.
 */
export async function readBack(
  context: LeaseContext,
  delivery: LeaseDelivery,
  rows: readonly LeasedRow[],
): Promise<"committed" | "not committed" | "unknown"> {
  const { ended, settings } = context;
  const { clock, leaseMs } = settings;
  const until = Math.max(delivery.heldUntil, clock.monotonic()) + leaseMs;
  const backoff = new Backoff(20, 1000);
  for (;;) {
    const trying = { clock, ended, leaseMs, isFinal: () => false };
    const outcomes = await tryForALease(trying, () => ask(context, rows));
    const isHeld = clock.monotonic() < delivery.heldUntil;
    if (outcomes.some((outcome) => outcome === "ours" || outcome === "taken")) {
      return "not committed";
    }
    if (!outcomes.includes("locked")) {
      const isProven = outcomes.every((outcome) => outcome === "settled");
      return isHeld || isProven ? "committed" : "unknown";
    }
    if (clock.monotonic() >= until || ended.aborted) return "unknown";
    await pause(clock, backoff.next(), ended);
  }
}

async function ask(
  { events, settings, statements }: LeaseContext,
  rows: readonly LeasedRow[],
): Promise<string[]> {
  const { clock, leaseMs, source } = settings;
  const limit = timeLimit(clock, leaseMs, "nobody said in time what became of the row");
  try {
    const action = events.bound(statements.readBack, events.fence(rows));
    const results = await withConnection(source, limit.signal, (connection) =>
      runAlone<{ id: string; outcome: string }>(connection, settings.dialect, [action]),
    );
    const outcomes = new Map(results[0]?.rows.map(({ id, outcome }) => [id, outcome]));
    return rows.map(({ id }) => outcomes.get(id) ?? "gone");
  } finally {
    limit.cancel();
  }
}
