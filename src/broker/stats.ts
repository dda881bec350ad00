import type { ClaimedRow } from "../dialect/dialect.ts";
import type { Engine, EngineState } from "../engine/engine.ts";
import { sanitizeError } from "../error-text.ts";
import type { FormObserver, Verdict } from "../form/reaction.ts";
import type { TableDelivery } from "../form/table-delivery.ts";

/** What one subscription has done since it was made, and does now. */
export interface SubscriptionStats {
  readonly name: string;
  readonly queue: string;
  /** What its claim loop is at; "idle" before the start. */
  readonly state: EngineState | "idle";
  /** Handler calls that run. */
  readonly inWork: number;
  /** Claimed, and waiting for a worker: handler calls. */
  readonly waiting: number;
  /** Rows claimed so far. */
  readonly claimed: number;
  /** Rows settled so far, by outcome. */
  readonly settled: Readonly<Record<Verdict["kind"], number>>;
  /** Rows that went back as they were, by reason. */
  readonly returned: Readonly<Record<ReturnedWhy, number>>;
  /** When rows were last claimed, by this host's clock. */
  readonly lastClaimAt: Date | undefined;
  /** The last error of a handler, a claim or a settlement, redacted. */
  readonly lastError: string | undefined;
}

/** What {@link Broker.stats} answers where it was asked for the oldest row. */
export interface AgedStats extends SubscriptionStats {
  /**
   * How long the oldest row that is due has been due, in milliseconds, by the table's clock; null where none
   * is, or no row has a due time.
   */
  readonly oldestDueMs: number | null;
}

export type ReturnedWhy = Parameters<FormObserver["returned"]>[1];

/** Counts what a form tells. */
export class StatsCounter implements FormObserver {
  #claimed = 0;
  readonly #settled = { ack: 0, drop: 0, retry: 0, retryAfter: 0, deadLetter: 0 };
  readonly #returned = { unstarted: 0, abandoned: 0, lost: 0, failed: 0 };
  #lastClaimAt: Date | undefined;
  #lastError: unknown;

  claimed(rows: readonly ClaimedRow[]): void {
    this.#claimed += rows.length;
    this.#lastClaimAt = new Date();
  }

  settled(_row: ClaimedRow, verdict: Verdict): void {
    this.#settled[verdict.kind] += 1;
    if (verdict.reason !== undefined) this.failed(verdict.reason);
  }

  returned(_row: ClaimedRow, why: ReturnedWhy, error?: unknown): void {
    this.#returned[why] += 1;
    if (error !== undefined) this.failed(error);
  }

  failed(error: unknown): void {
    this.#lastError = error;
  }

  read(name: string, queue: string, engine: Engine<TableDelivery> | undefined): SubscriptionStats {
    return {
      name,
      queue,
      state: engine?.state ?? "idle",
      inWork: engine?.running ?? 0,
      waiting: engine?.waiting ?? 0,
      claimed: this.#claimed,
      settled: { ...this.#settled },
      returned: { ...this.#returned },
      lastClaimAt: this.#lastClaimAt,
      lastError: this.#lastError === undefined ? undefined : sanitizeError(this.#lastError),
    };
  }
}
