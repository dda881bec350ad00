import { untilReturned } from "../driver/checkout.ts";
import type { ConnectionSource } from "../driver/connection.ts";
import type { Claim, Performance, Work } from "../engine/work.ts";
import type { TableDelivery } from "../form/table-delivery.ts";

/**
 * The work of a subscription. Its form is made once the database has been looked at: what a statement
 * says may depend on what the table's columns hold.
 */
export class SubscriptionWork implements Work<TableDelivery> {
  readonly #settings: SubscriptionWorkSettings;
  #form: Work<TableDelivery> | undefined;

  constructor(settings: SubscriptionWorkSettings) {
    this.#settings = settings;
  }

  async open(signal: AbortSignal): Promise<void> {
    await this.#watched(signal, async () => {
      this.#form ??= await this.#settings.make(signal);
      await this.#form.open(signal);
    });
  }

  claim(limit: number, signal: AbortSignal): Promise<Claim<TableDelivery>> {
    return this.#watched(signal, () => this.#opened.claim(limit, signal));
  }

  perform(delivery: TableDelivery): Promise<Performance> {
    return this.#opened.perform(delivery);
  }

  giveBack(deliveries: readonly TableDelivery[]): Promise<void> {
    return this.#opened.giveBack(deliveries);
  }

  async close(): Promise<void> {
    await this.#form?.close();
    await untilReturned(this.#settings.source);
  }

  get #opened(): Work<TableDelivery> {
    if (this.#form === undefined) throw new Error("a subscription claims before it has opened");
    return this.#form;
  }

  async #watched<T>(stop: AbortSignal, what: () => Promise<T>): Promise<T> {
    try {
      return await what();
    } catch (error) {
      // What a stop cuts off has not failed.
      if (!stop.aborted) this.#settings.failed(error);
      throw error;
    }
  }
}

export interface SubscriptionWorkSettings {
  readonly source: ConnectionSource;
  /** Looks at the database, and makes the form that fits. Called again where it failed. */
  make(signal: AbortSignal): Promise<Work<TableDelivery>>;
  /** Is told of each start and each claim that failed. */
  failed(error: unknown): void;
}
