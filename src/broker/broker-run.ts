import { aborted } from "../engine/bell.ts";
import { ShutdownError } from "../errors.ts";
import { shareConnections } from "../form/connection-plan.ts";
import { listenForAll, listeningConnections } from "./listening.ts";
import type { BrokerContext, QueueSubscription } from "./subscription.ts";

/**
 * One start to stop of a broker's subscriptions:
 *
 *     starting --all tables fit--> running --stop--> stopping --> stopped
 *         \---one does not, or stop---------------------^
 */
export class BrokerRun {
  /** Resolves when every subscription has found that its table fits; rejects when one has not. */
  readonly started: Promise<void>;
  /** Resolves when a subscription has ended, or a stop has begun. */
  readonly over: Promise<void>;
  readonly #context: BrokerContext;
  readonly #subscriptions: readonly QueueSubscription[];
  readonly #over = new AbortController();
  readonly #ended: Promise<void>;
  #state: RunState = "starting";
  #failure: { readonly error: unknown } | undefined;
  #stopped: Promise<void> | undefined;

  /** @throws RangeError where the source has too few connections. */
  constructor(context: BrokerContext, subscriptions: readonly QueueSubscription[]) {
    const { dialect, options, source } = context;
    this.#context = context;
    this.#subscriptions = subscriptions;
    const wishes = subscriptions.map(({ wish }) => wish);
    const listeners = options.listenNotify
      ? listeningConnections(source, dialect, subscriptions)
      : 0;
    const shares = shareConnections(source, wishes, listeners);
    this.over = aborted(this.#over.signal);
    const runs = subscriptions.map((subscription, index) => {
      const share = shares[index] ?? { handlers: 1, canRenew: true };
      const { opened, ended } = subscription.start(share);
      return {
        opened,
        ended: ended.then(
          () => this.#over.abort(),
          (error: unknown) => this.#fail(subscription, error),
        ),
      };
    });
    this.#ended = this.#untilEnded(runs.map(({ ended }) => ended));
    this.started = this.#start(runs.map(({ opened }) => opened));
    // Whoever starts the broker hears of it; who merely stops it waits for something else.
    this.started.catch(() => {});
  }

  get state(): RunState {
    return this.#state;
  }

  /** What ended a subscription for good, if anything did. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Stops all; resolves when everything is settled or given up. The first call's grace counts. */
  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#stop(graceMs);
    return this.#stopped;
  }

  async #start(opened: readonly Promise<void>[]): Promise<void> {
    await Promise.race([Promise.all(opened), this.over]);
    if (this.#failure !== undefined) {
      await this.stop(0);
      throw this.#failure.error;
    }
    if (this.#state !== "starting") {
      throw new ShutdownError("the broker was stopped before it had started");
    }
    this.#state = "running";
  }

  async #stop(graceMs: number): Promise<void> {
    this.#state = "stopping";
    for (const subscription of this.#subscriptions) subscription.stop(graceMs);
    // A broker without subscriptions, which only publishes, ends here too.
    this.#over.abort();
    await this.#ended;
    this.#state = "stopped";
  }

  /** Listens for notifications until all have ended. */
  async #untilEnded(ended: readonly Promise<void>[]): Promise<void> {
    const stopListening = new AbortController();
    const listening = this.#context.options.listenNotify
      ? listenForAll(this.#context, this.#subscriptions, stopListening.signal)
      : Promise.resolve();
    await Promise.all(ended);
    stopListening.abort();
    await listening;
  }

  #fail({ name }: QueueSubscription, error: unknown): void {
    this.#failure ??= { error };
    this.#context.log.error("a subscription ended for good", {
      event: "subscription_failed",
      subscription: name,
      error,
    });
    this.#over.abort();
  }
}

export type RunState = "starting" | "running" | "stopping" | "stopped";
