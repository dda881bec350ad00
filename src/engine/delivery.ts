import type { LeaseLostError, ShutdownError } from "../errors.ts";

/**
 * A claimed row on its way through a handler, as the engine sees it: something that can be told to
 * stop. The doors add the row.
 */
export class Delivery {
  /** How log lines name the row. */
  readonly id: string;
  /**
   * What the row shares with rows that must wait for it (an aggregate, a group, a lock key); null
   * where it holds nobody up. When it ends, the next one can be claimed at once.
   */
  readonly key: string | null;
  /**
   * The monotonic time until which the row is certainly ours; the lease keeper moves it on. Past it
   * somebody else may have the row.
   */
  heldUntil: number = Number.NEGATIVE_INFINITY;
  readonly #controller = new AbortController();
  #lost: LeaseLostError | undefined;
  #cut: ShutdownError | undefined;
  #isLeftBehind = false;

  constructor(id: string, key: string | null) {
    this.id = id;
    this.key = key;
  }

  /** The handler's signal: aborts when the row is lost or a shutdown's grace is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the row is not ours any more; undefined while it is. */
  get lost(): LeaseLostError | undefined {
    return this.#lost;
  }

  /** Why the handler was cut off while the row was ours; undefined if it was not. */
  get cut(): ShutdownError | undefined {
    return this.#cut;
  }

  /** The row is somebody else's, or may be. */
  lose(reason: LeaseLostError): void {
    this.#lost ??= reason;
    this.#controller.abort(reason);
  }

  /** A shutdown's grace is over. */
  cutOff(reason: ShutdownError): void {
    this.#cut ??= reason;
    this.#controller.abort(reason);
  }

  /**
   * The handler did not end, and nobody waits for it any more. True the first time: whoever sees it
   * first is the one to say so.
   */
  leaveBehind(): boolean {
    const isNews = !this.#isLeftBehind;
    this.#isLeftBehind = true;
    return isNews;
  }
}
