import type { Log } from "../log.ts";

/**
 * Says that something fails, without flooding: the first failure of an outage, then the second, the
 * fourth, the eighth... and one line when it is over.
 */
export class Outage {
  readonly #log: Log;
  readonly #what: string;
  readonly #event: OutageEvent;
  readonly #fields: Record<string, unknown>;
  #failures = 0;

  /** Logs under `event`, and under `event` with `_recovered` behind it when it is over. */
  constructor(log: Log, what: string, event: OutageEvent, fields: Record<string, unknown> = {}) {
    this.#log = log;
    this.#what = what;
    this.#event = event;
    this.#fields = fields;
  }

  failed(error: unknown, retryInMs?: number): void {
    this.#failures += 1;
    const isPowerOfTwo = (this.#failures & (this.#failures - 1)) === 0;
    if (!isPowerOfTwo) return;
    this.#log.error(`${this.#what} failed`, {
      event: this.#event,
      ...this.#fields,
      failures: this.#failures,
      retryInMs: retryInMs === undefined ? undefined : Math.round(retryInMs),
      error,
    });
  }

  succeeded(): void {
    if (this.#failures === 0) return;
    this.#log.info(`${this.#what} works again`, {
      event: `${this.#event}_recovered`,
      ...this.#fields,
      failures: this.#failures,
    });
    this.#failures = 0;
  }
}

type OutageEvent = "claim_failed" | "listen_failed" | "renewal_failed";
