import type { ConnectionSource } from "../driver/connection.ts";
import { connectionSourceHint, isConnectionSource } from "../driver/is-connection-source.ts";
import { onStop } from "../engine/on-stop.ts";
import { AlreadyRunningError, ShutdownError } from "../errors.ts";
import { Log } from "../log.ts";
import { checkKnownKeys, hasMethods, isObject, shown } from "../options.ts";
import { tableLabel } from "../table/description.ts";
import type { Queue, QueueDescription } from "../table/queue.ts";
import { BrokerRun } from "./broker-run.ts";
import { dialectOf } from "./dialect-of.ts";
import type { FittingQueue } from "./fitting.ts";
import { checkListening } from "./listening.ts";
import { insertMessages, type MessageOptions } from "./messages.ts";
import { onClock } from "./on-clock.ts";
import { type OnSettled, onSettled } from "./on-settled.ts";
import {
  checkGrace,
  queueDescription,
  resolveBrokerOptions,
  resolveSubscription,
} from "./options.ts";
import type { AnyHandler } from "./reaction.ts";
import { refuseTwins } from "./refuse-twins.ts";
import { Routes } from "./routes.ts";
import { checkForm } from "./statements.ts";
import type { AgedStats, SubscriptionStats } from "./stats.ts";
import { type BrokerContext, QueueSubscription, type Subscription } from "./subscription.ts";
import type { BrokerOptions, DescribedTable, Handler, QueueOf, SubscribeOptions } from "./types.ts";
import { notifyAbout } from "./wake-registry.ts";

/**
 * The subscriptions of one database: takes rows from queue tables and hands each to its handler.
 *
 * @example
 * const broker = new Broker(fromPg(new pg.Pool()));
 * broker.subscribe(emails, { workers: 4 }, async (email, { signal }) => {
 *   if (!(await deliver(email.to, signal))) return retryAfter("5m");
 * });
 * await broker.run({ signal });
 */
export class Broker<Database extends string = string> {
  readonly #context: BrokerContext;
  readonly #subscriptions: QueueSubscription[] = [];
  readonly #routes = new Routes<QueueDescription>();
  #run: BrokerRun | undefined;

  /**
   * The pool behind the source stays yours: it is never closed.
   *
   * @throws TypeError or RangeError that names the option, what it takes, and the value that it got.
   */
  constructor(source: ConnectionSource<Database>, options: BrokerOptions<Database> = {}) {
    if (!isConnectionSource(source)) {
      throw new TypeError(`Broker: ${connectionSourceHint(source)}`);
    }
    const resolved = resolveBrokerOptions(options);
    const dialect = dialectOf(source, options.dialect);
    if (resolved.listenNotify) checkListening(dialect, source);
    this.#context = {
      source,
      dialect,
      options: resolved,
      log: new Log(resolved.logger),
      onSettled: isWatched(options) ? options[onSettled] : undefined,
    };
  }

  /**
   * Hands each message of a queue to a handler. Nothing is claimed before {@link start} or {@link run}.
   * A handler that returns nothing acknowledges; see `ack`, `retry`, `retryAfter`, `drop` and `deadLetter`
   * for the rest, and the option `onFailure` for one that throws.
   *
   * @throws TypeError, RangeError or TableError that names the option, what it takes, and what it got.
   * @throws AlreadyRunningError while the broker runs.
   * @throws RouteError for a name that no route leads from.
   * @example
   * broker.subscribe(signups, { transactional: true }, async (signup, { tx }) => {
   *   await tx.sql`INSERT INTO accounts (email) VALUES (${signup.email})`;
   * });
   */
  subscribe<Of extends Queue | string>(
    queue: FittingQueue<Of, Database>,
    handler: Handler<QueueOf<Of>>,
  ): Subscription;
  /** With settings; `queue` may also be a name that a route leads from. */
  subscribe<
    Of extends Queue | string,
    Tx extends boolean = false,
    Batch extends number | undefined = undefined,
    To extends Queue | DescribedTable | undefined = undefined,
    ReplyQueue extends Queue | undefined = undefined,
  >(
    queue: FittingQueue<Of, Database>,
    options: SubscribeOptions<QueueOf<Of>["$table"], Tx, Batch, To, ReplyQueue>,
    handler: Handler<QueueOf<Of>, Tx, Batch, ReplyQueue>,
  ): Subscription;
  subscribe(queue: unknown, second: unknown, third?: unknown): Subscription {
    const description = this.#queueOf(queue);
    const [options, handler] = third === undefined ? [{}, second] : [second, third];
    if (!isHandler(handler)) {
      throw new TypeError(
        `subscribe to ${description.name} takes a handler last, a function of a message and its context, not ${shown(handler)}`,
      );
    }
    if (this.#state !== "idle") {
      throw new AlreadyRunningError(
        `the broker is ${this.#state}: subscribe to ${description.name} before it starts`,
      );
    }
    const resolved = resolveSubscription(description, options, this.#context.options);
    const subscription = new QueueSubscription(this.#context, description, resolved, handler);
    this.#notifyAbout(description);
    this.#subscriptions.push(subscription);
    return subscription;
  }

  /**
   * Writes a message to a queue, on a connection of its own, and wakes its subscriptions. Answers the row's
   * id. To write within a transaction use the queue's `insert`.
   *
   * @throws RouteError for a name that no route leads from.
   * @throws TypeError or RangeError that names the option and what it takes, or what cannot be written.
   * @example
   * await broker.publish(emails, { to: "ada@example.com" }, { delay: "5m" });
   */
  async publish<Of extends Queue | string>(
    queue: Of,
    message: QueueOf<Of>["$input"],
    options?: MessageOptions,
  ): Promise<QueueOf<Of>["$table"]["id"]> {
    const { dialect, options: settings, source } = this.#context;
    const description = onClock(this.#queueOf(queue), settings.clock);
    const ids = await insertMessages(description, source, [message], dialect, {
      ...(settings.listenNotify && { notify: true }),
      ...options,
    });
    return ids[0];
  }

  /**
   * Says which queue a name leads to, or every name with a prefix: `"mail.*"`, `"*"`. Exact names come
   * first, then the longest prefix.
   *
   * @throws TypeError for a pattern of another form, RouteError for one that leads somewhere already,
   *   TableError for a table that the database cannot serve.
   * @example
   * broker.route("signups", signups).route("mail.*", emails);
   */
  route<Of extends Queue>(pattern: string, queue: FittingQueue<Of, Database>): this {
    const description = queueDescription("route", queue);
    checkForm(this.#context.dialect, description.table);
    this.#routes.add(pattern, description);
    this.#notifyAbout(description);
    return this;
  }

  /**
   * Starts all subscriptions; resolves when each has looked at its table and found that it fits. A database
   * that is not there is waited for. Started already: the same promise.
   *
   * @throws SchemaError where a table, a column or a statement does not fit; everything is stopped then.
   * @throws RangeError where the source has too few connections; TableError for two subscriptions to one
   *   queue; ShutdownError when it is stopped before it has started.
   */
  async start(): Promise<void> {
    if (this.#run?.state === "stopping") await this.#run.stop(0);
    if (this.#run === undefined || this.#run.state === "stopped") {
      refuseTwins(this.#subscriptions);
      this.#run = new BrokerRun(this.#context, this.#subscriptions);
    }
    await this.#run.started;
  }

  /**
   * Stops in good order: no new claims, waiting rows given back, running handlers given the grace, then
   * their signals abort. Resolves when all is settled or given up; at once where nothing runs.
   *
   * @throws TypeError or RangeError where `graceMs` is no number of milliseconds.
   */
  async stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    const given = checkKnownKeys("stop", options, ["graceMs"]);
    const grace = given.graceMs ?? this.#context.options.shutdownGraceMs;
    const graceMs = checkGrace("graceMs", grace);
    await this.#run?.stop(graceMs);
  }

  /**
   * Starts, works until the signal aborts, and stops in good order. Without a signal it works until
   * {@link stop}.
   *
   * @throws what {@link start} throws, and what ends a subscription for good, once the others have stopped.
   */
  async run(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const { signal } = checkKnownKeys("run", options, ["signal"]);
    if (signal !== undefined && !isSignal(signal)) {
      throw new TypeError(`run takes an AbortSignal as signal, not ${shown(signal)}`);
    }
    if (signal?.aborted) return;
    const stopNoMore = onStop(signal, () => void this.stop());
    try {
      await this.start().catch((error: unknown) => {
        if (!(error instanceof ShutdownError)) throw error;
      });
      const run = this.#run;
      await run?.over;
      await this.stop();
      if (run?.failure !== undefined) throw run.failure.error;
    } finally {
      stopNoMore();
    }
  }

  /** Stops; see {@link stop}. For `await using broker = ...`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Looks once more, and resolves when no subscription finds anything to claim and none has anything in
   * hand. Rows that are due later are not waited for. At once where nothing runs.
   */
  async idle(): Promise<void> {
    if (this.#state !== "running") return;
    const claimed = () => this.stats().reduce((sum, each) => sum + each.claimed, 0);
    let before: number;
    do {
      // What one handler wrote may be another's to work.
      before = claimed();
      await Promise.all(this.#subscriptions.map((subscription) => subscription.idle()));
    } while (claimed() !== before);
  }

  /** Whether all is well: it runs, and no subscription has failed or waits for its database. */
  health(): BrokerHealth {
    const subscriptions = this.stats();
    const failure = this.#run?.failure;
    const isWell = subscriptions.every(({ state }) => !SICK.includes(state));
    return {
      ok: this.#state === "running" && failure === undefined && isWell,
      state: this.#state,
      subscriptions: subscriptions.map(({ name, state, lastError }) => ({
        name,
        state,
        lastError,
      })),
    };
  }

  /** What each subscription has done and does now. */
  stats(): readonly SubscriptionStats[];
  /**
   * The same, and how long the oldest row that is due has waited. That reads the queues' rows: once a
   * minute, not each second.
   *
   * @throws what the database throws.
   * @example
   * for (const { queue, oldestDueMs } of await broker.stats({ oldestDue: true })) gauge(queue, oldestDueMs);
   */
  stats(options: { readonly oldestDue: true }): Promise<readonly AgedStats[]>;
  stats(options?: unknown): readonly SubscriptionStats[] | Promise<readonly AgedStats[]> {
    const all = this.#subscriptions;
    if (options === undefined) return all.map((subscription) => subscription.stats());
    const { oldestDue } = checkKnownKeys("stats", options, ["oldestDue"]);
    if (oldestDue !== true) throw new TypeError(`oldestDue takes true, not ${shown(oldestDue)}`);
    return Promise.all(all.map((subscription) => subscription.agedStats()));
  }

  get #state(): BrokerState {
    const state = this.#run?.state ?? "stopped";
    return state === "stopped" ? "idle" : state;
  }

  #queueOf(queue: unknown): QueueDescription {
    if (typeof queue !== "string") return queueDescription("the first argument", queue);
    const found = this.#routes.find(queue);
    if (found.table.roles.payload !== undefined) return found;
    throw new TypeError(
      `"${queue}" leads to ${tableLabel(found.table)}, which has no payload column: name the queue itself`,
    );
  }

  #notifyAbout({ table }: QueueDescription): void {
    const { dialect, options } = this.#context;
    if (!options.listenNotify) return;
    // Throws where the channel's name is too long.
    dialect.channel?.(table);
    notifyAbout(table);
  }
}

/** What {@link Broker.health} answers. */
export interface BrokerHealth {
  readonly ok: boolean;
  readonly state: BrokerState;
  readonly subscriptions: readonly Pick<SubscriptionStats, "name" | "state" | "lastError">[];
}

export type BrokerState = "idle" | "starting" | "running" | "stopping";

const SICK: readonly SubscriptionStats["state"][] = ["backing-off", "stopped", "stopping", "idle"];

function isWatched(options: object): options is { readonly [onSettled]: OnSettled } {
  return onSettled in options;
}

function isHandler(value: unknown): value is AnyHandler {
  return typeof value === "function";
}

function isSignal(value: unknown): value is AbortSignal {
  return (
    isObject(value) && typeof value.aborted === "boolean" && hasMethods(value, ["addEventListener"])
  );
}
