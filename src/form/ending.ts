import { setMaxListeners } from "node:events";
import { untilReturned } from "../driver/checkout.ts";
import type { ConnectionSource } from "../driver/connection.ts";

/** The end of a subscription, after which nothing is tried again and no connection is on its way. */
export class Ending {
  readonly #controller = new AbortController();
  readonly #source: ConnectionSource;

  constructor(source: ConnectionSource) {
    this.#source = source;
    // One listener for each settlement that waits for its next try.
    setMaxListeners(0, this.signal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Resolves when the connections are back that a stop did not wait for. */
  async end(): Promise<void> {
    this.#controller.abort();
    await untilReturned(this.#source);
  }
}
