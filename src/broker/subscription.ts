import type { ClaimSettings, Dialect } from "../dialect/dialect.ts";
import type { ConnectionSource } from "../driver/connection.ts";
import { Engine } from "../engine/engine.ts";
import type { Work } from "../engine/work.ts";
import { TableError } from "../errors.ts";
import type { ConnectionShare, ConnectionWish } from "../form/connection-plan.ts";
import { formOf } from "../form/form.ts";
import type { FormSettings } from "../form/form-settings.ts";
import { LAST_WAIT_MS } from "../form/handler-end.ts";
import type { FormObserver } from "../form/reaction.ts";
import type { TableDelivery } from "../form/table-delivery.ts";
import type { Log } from "../log.ts";
import { tableLabel } from "../table/description.ts";
import { checkNames } from "../table/names.ts";
import type { QueueDescription } from "../table/queue.ts";
import { FailingRows } from "./failing-rows.ts";
import { insertMessages } from "./messages.ts";
import { onClock } from "./on-clock.ts";
import type { OnSettled } from "./on-settled.ts";
import type { ResolvedBrokerOptions, ResolvedSubscription } from "./options.ts";
import { type AnyHandler, SubscriptionReaction } from "./reaction.ts";
import { RowReader } from "./row-reader.ts";
import { sayVerdict } from "./say-verdict.ts";
import { checkStart, type StartSettings } from "./start-checks.ts";
import { formStatements } from "./statements.ts";
import { type AgedStats, StatsCounter, type SubscriptionStats } from "./stats.ts";
import { SubscriptionWork } from "./subscription-work.ts";
import { tableStatus } from "./table-status.ts";
import { sleepOn } from "./wake-registry.ts";

/** A queue, a handler and its settings. */
export interface Subscription {
  /** The option `name`, else the queue's. */
  readonly name: string;
  /** Claims no more until {@link resume}; what is in hand goes on. */
  pause(): void;
  /** Claims again. */
  resume(): void;
  /** What it has done and does now. */
  stats(): SubscriptionStats;
}

/** What all subscriptions of a broker share. */
export interface BrokerContext {
  readonly source: ConnectionSource;
  readonly dialect: Dialect;
  readonly options: ResolvedBrokerOptions;
  readonly log: Log;
  readonly onSettled?: OnSettled | undefined;
}

/** One subscription: wires a form, a reaction and an engine, anew at each start. */
export class QueueSubscription implements Subscription {
  readonly name: string;
  readonly queue: QueueDescription;
  readonly #broker: BrokerContext;
  readonly #options: ResolvedSubscription;
  readonly #handler: AnyHandler;
  readonly #reader: RowReader;
  readonly #fields: Record<string, unknown>;
  readonly #stats = new StatsCounter();
  #engine: Engine<TableDelivery> | undefined;
  #isPaused = false;
  #isHeld = false;

  /** @throws TableError where the database cannot hold the table's rows as it says. */
  constructor(
    broker: BrokerContext,
    queue: QueueDescription,
    options: ResolvedSubscription,
    handler: AnyHandler,
  ) {
    if (queue.groups === "every" && queue.table.custom?.claim !== undefined) {
      throw new TableError(
        `${tableLabel(queue.table)}: everyGroup() and custom.claim do not go together: the event claims from one group`,
      );
    }
    checkNames(options.deadLetter?.settings.table ?? queue.table, broker.dialect);
    this.name = options.name;
    this.queue = onClock(queue, broker.options.clock);
    this.#broker = broker;
    this.#options = options;
    this.#handler = handler;
    this.#reader = new RowReader(queue, broker.dialect);
    formStatements(broker.dialect, queue.table, this.#claim(1), options);
    this.#fields = {
      queue: queue.name,
      ...(options.name !== queue.name && { subscription: options.name }),
    };
  }

  /** What it would have of the source's connections. */
  get wish(): ConnectionWish {
    const { reply, transactional, workers } = this.#options;
    const repliesBeside = reply !== undefined && !transactional;
    return {
      handlers: workers,
      holds: this.queue.table.form !== "lease" || transactional,
      alsoTakes: repliesBeside ? `reply of ${this.name}` : undefined,
    };
  }

  pause(): void {
    this.#isPaused = true;
    this.#engine?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#resumeUnlessHeld();
  }

  wake(): void {
    this.#engine?.wake();
  }

  /** Resolves when a claim has found nothing and nothing is in hand. */
  async idle(): Promise<void> {
    await this.#engine?.idle();
  }

  stats(): SubscriptionStats {
    return this.#stats.read(this.name, this.queue.name, this.#engine);
  }

  async agedStats(): Promise<AgedStats> {
    const { dialect, source } = this.#broker;
    const groups = await tableStatus(source, this.queue, { dialect });
    const ages = groups.flatMap(({ oldestDueMs }) => oldestDueMs ?? []);
    return { ...this.stats(), oldestDueMs: ages.length === 0 ? null : Math.max(...ages) };
  }

  /** Begins the stop of what runs; see {@link SubscriptionRun.ended}. */
  stop(graceMs: number): void {
    this.#engine?.stop(graceMs);
  }

  /** Works with its share of the connections. */
  start(share: ConnectionShare): SubscriptionRun {
    const { clock, pollIntervalMs } = { ...this.#broker.options, ...this.#options };
    const { shutdownGraceMs } = this.#broker.options;
    this.#warnOfShare(share);
    const failing = new FailingRows({
      clock,
      pollIntervalMs,
      hold: () => this.#hold(),
      release: () => this.#release(),
    });
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const work = this.#work(share, failing, open);
    const isLease = this.queue.table.form === "lease";
    const engine = new Engine(work, {
      slots: share.handlers,
      inHand: share.handlers + this.#options.prefetch,
      lanes: this.#options.lanes,
      // In order are only rows that come from one claim at a time.
      mostClaims: isLease || this.#options.lanes ? 1 : share.handlers,
      pollIntervalMs,
      graceMs: shutdownGraceMs,
      lastWaitMs: LAST_WAIT_MS + 1000,
      clock,
      log: this.#broker.log,
      fields: this.#fields,
    });
    this.#engine = engine;
    this.#isHeld = false;
    if (this.#isPaused) engine.pause();
    const { groups, group, table } = this.queue;
    const wakeNoMore = sleepOn(table, groups === "one" ? group : undefined, () => engine.wake());
    const ended = engine.run().finally(() => {
      wakeNoMore();
      failing.stop();
    });
    return { opened, ended };
  }

  #work(share: ConnectionShare, failing: FailingRows, open: () => void): Work<TableDelivery> {
    const { dialect, log, options: broker, source } = this.#broker;
    const { batch, deadLetter, leaseMs, transactional } = this.#options;
    const { table, groups, group } = this.queue;
    const reaction = this.#reaction(failing);
    const claim = this.#claim(share.handlers);
    const fields = this.#fields;
    const settings: FormSettings = {
      source,
      dialect,
      table,
      claim,
      fetched: this.#reader.fetched,
      queueGroup: groups === "one" ? group : undefined,
      batch: batch ?? 1,
      transactional,
      leaseMs,
      canRenew: share.canRenew,
      ...(deadLetter !== undefined && { deadLetterGroup: deadLetter.group }),
      reaction,
      observer: this.#observer(reaction, failing),
      prepare: broker.prepareStatements,
      clock: broker.clock,
      log,
      fields,
    };
    const checks: StartSettings = {
      source,
      dialect,
      table,
      destination: table.custom?.deadLetter === undefined ? deadLetter?.settings.table : undefined,
      statements: ({ leasePrecision }) =>
        formStatements(dialect, table, claim, {
          leaseMs,
          ...(leasePrecision !== undefined && { leasePrecision }),
        }),
      clock: broker.clock,
      holdsTransaction: table.form === "rowLock" || transactional,
      log,
      fields,
    };
    return new SubscriptionWork({
      source,
      make: async (signal) => {
        const facts = await checkStart(checks, signal);
        open();
        return formOf({ ...settings, ...facts });
      },
      failed: (error) => this.#stats.failed(error),
    });
  }

  #claim(handlers: number): ClaimSettings {
    const { batch, deadLetter, prefetch } = this.#options;
    return {
      columns: this.#reader.columns,
      groups: this.queue.groups,
      mostRows: (handlers + prefetch) * (batch ?? 1),
      ...(deadLetter !== undefined && { deadLetter: deadLetter.settings }),
    };
  }

  #reaction(failing: FailingRows): SubscriptionReaction {
    const { dialect, log, options: broker, source } = this.#broker;
    const { batch, deadLetter, leaseMs, maxAttempts, onFailure, reply, retryDelays } =
      this.#options;
    return new SubscriptionReaction({
      queue: this.queue,
      source,
      dialect,
      reader: this.#reader,
      handler: this.#handler,
      isBatch: batch !== undefined,
      onFailure,
      retryDelays,
      maxAttempts,
      hasDeadLetter: deadLetter !== undefined,
      hasDue: this.queue.table.roles.retryAfter !== undefined,
      failing,
      ...(reply !== undefined && {
        reply: (transaction) => async (message, options) => {
          const queue = onClock(reply, broker.clock);
          await insertMessages(queue, transaction ?? source, [message], dialect, options);
        },
      }),
      clock: broker.clock,
      log,
      fields: this.#fields,
      limitMs: leaseMs,
    });
  }

  #observer(reaction: SubscriptionReaction, failing: FailingRows): FormObserver {
    const stats = this.#stats;
    return {
      claimed: (rows) => stats.claimed(rows),
      settled: (row, verdict) => {
        stats.settled(row, verdict);
        if (verdict.kind !== "retry") failing.forget(row.id);
        reaction.settled(row, verdict);
        const attempt = this.#reader.attempt(row);
        sayVerdict(this.#broker.log, verdict, { ...this.#fields, id: row.id, attempt });
        this.#broker.onSettled?.({
          queue: this.queue.name,
          id: row.id,
          attempt,
          outcome: verdict.kind,
          reason: verdict.reason,
        });
      },
      returned: (row, why, error) => stats.returned(row, why, error),
    };
  }

  #hold(): void {
    this.#isHeld = true;
    this.#engine?.pause();
  }

  #release(): void {
    this.#isHeld = false;
    this.#resumeUnlessHeld();
  }

  #resumeUnlessHeld(): void {
    if (!this.#isPaused && !this.#isHeld) this.#engine?.resume();
  }

  #warnOfShare({ canRenew, handlers }: ConnectionShare): void {
    const { log, source } = this.#broker;
    const { leaseMs, workers } = this.#options;
    if (!canRenew && this.queue.table.form === "lease") {
      log.warn(
        "the source has one connection: one message at a time, and its lease is not renewed while its handler runs. Handlers must end within leaseMs and must not ask the same pool for a connection",
        { event: "single_connection", ...this.#fields, leaseMs },
      );
    } else if (handlers < workers) {
      log.warn("the source has too few connections for workers; fewer handlers run at once", {
        event: "few_connections",
        ...this.#fields,
        workers,
        handlers,
        connections: source.max,
      });
    }
  }
}

/** One start to stop of a subscription. */
export interface SubscriptionRun {
  /** Resolves when its table was found to fit; never where it does not. */
  readonly opened: Promise<void>;
  /** Settles when all is settled or given up; rejects with what ended it for good. */
  readonly ended: Promise<void>;
}
