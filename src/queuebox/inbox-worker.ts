import { inboxDialects } from "../dialect/inbox-dialects.ts";
import type { ConnectionSource, Listener } from "../driver/connection.ts";
import { connectionSourceHint, isConnectionSource } from "../driver/is-connection-source.ts";
import { Engine } from "../engine/engine.ts";
import { listenUntil } from "../engine/wake-ups.ts";
import { AlreadyRunningError } from "../errors.ts";
import { LAST_WAIT_MS } from "../form/handler-end.ts";
import { Log } from "../log.ts";
import { hasMethods, isObject, shown } from "../options.ts";
import { type ConnectionPlan, planConnections } from "./connection-plan.ts";
import type { InboxContext } from "./inbox-context.ts";
import type { InboxDelivery } from "./inbox-delivery.ts";
import { InboxWork } from "./inbox-work.ts";
import type { PayloadOf, PayloadOption } from "./message.ts";
import { type InboxOptions, type ResolvedInboxOptions, resolveOptions } from "./options.ts";
import type { InboxHandler } from "./types.ts";

/**
 * Takes messages of one source from a QueueBox inbox and hands each to a handler, in a transaction
 * that commits the handler's writes and the message's completion together.
 *
 * @example
 * const worker = new InboxWorker(fromPg(new pg.Pool()), { source: "orders" });
 * await worker.run(async (message, tx) => {
 *   await tx.query("INSERT INTO seen (id) VALUES ($1)", [message.idempotencyKey]);
 * });
 */
export class InboxWorker<const Payload extends PayloadOption = undefined> {
  readonly #context: Omit<InboxContext, "ended">;
  readonly #plan: ConnectionPlan;
  #isRunning = false;

  /**
   * @throws TypeError or RangeError that names the option, what it takes, and the value that it got.
   */
  constructor(connections: ConnectionSource, options: InboxOptions<Payload>) {
    if (!isConnectionSource(connections)) {
      throw new TypeError(`connections: ${connectionSourceHint(connections)}`);
    }
    const resolved = resolveOptions(options);
    this.#plan = planConnections(connections, resolved);
    this.#context = contextOf(connections, resolved);
  }

  /**
   * Works until `signal` aborts, then stops in good order: no new claims, waiting messages given
   * back, running handlers given `shutdownGraceMs`. Without a signal it works for ever. Outages of the
   * database are logged and waited out.
   *
   * @throws AlreadyRunningError when this worker runs already.
   * @throws SchemaError when the table or one of its columns is missing.
   * @throws TypeError when the handler is no function, or the signal no AbortSignal.
   */
  async run(handler: InboxHandler<PayloadOf<Payload>>, signal?: AbortSignal): Promise<void> {
    if (typeof handler !== "function") {
      throw new TypeError(
        `run takes a handler, a function of a message, its transaction and a signal, not ${shown(handler)}`,
      );
    }
    if (signal !== undefined && !isSignal(signal)) {
      throw new TypeError(`run takes an AbortSignal second, not ${shown(signal)}`);
    }
    if (this.#isRunning) {
      throw new AlreadyRunningError(
        "this worker runs already: raise maxConcurrency, or make another worker",
      );
    }
    this.#isRunning = true;
    try {
      // What the payload option makes of a payload is what the handler's type says.
      await this.#run(handler as InboxHandler, signal);
    } finally {
      this.#isRunning = false;
    }
  }

  async #run(handler: InboxHandler, signal: AbortSignal | undefined): Promise<void> {
    const { fields, log, options } = this.#context;
    this.#warnOfFewConnections();
    const work = new InboxWork(this.#context, handler, this.#plan.canRenew);
    const engine = new Engine(work, {
      slots: this.#plan.slots,
      inHand: this.#plan.inHand,
      pollIntervalMs: options.pollIntervalMs,
      graceMs: options.shutdownGraceMs,
      lastWaitMs: LAST_WAIT_MS + 1000,
      clock: options.clock,
      log,
      fields,
    });
    const stopListening = new AbortController();
    const listening = this.#listen(engine, stopListening.signal);
    try {
      await engine.run(signal);
    } finally {
      stopListening.abort();
      await listening;
    }
  }

  async #listen(engine: Engine<InboxDelivery>, signal: AbortSignal): Promise<void> {
    const { dialect, fields, log, options, source } = this.#context;
    const channel = dialect.channel?.(options.schema);
    const listen = source.listen?.bind(source);
    if (!options.listenNotify || channel === undefined || listen === undefined) return;
    await listenUntil(signal, {
      clock: options.clock,
      log,
      fields,
      open: (listener: Listener) => listen(channel, listener),
      wake: (payload) => {
        if (payload === undefined || payload === "" || payload === options.source) engine.wake();
      },
    });
  }

  #warnOfFewConnections(): void {
    const { fields, log, options, source } = this.#context;
    if (!this.#plan.canRenew) {
      log.warn(
        "the source has one connection: one message at a time, and its lease is not renewed while its handler runs. Handlers must end within leaseMs and must not ask the same pool for a connection",
        { event: "single_connection", ...fields, leaseMs: options.leaseMs },
      );
    } else if (this.#plan.slots < options.maxConcurrency) {
      log.warn(
        "the source has too few connections for maxConcurrency; fewer handlers run at once",
        {
          event: "few_connections",
          ...fields,
          maxConcurrency: options.maxConcurrency,
          handlers: this.#plan.slots,
          connections: source.max,
        },
      );
    }
  }
}

function contextOf(
  source: ConnectionSource,
  options: ResolvedInboxOptions,
): Omit<InboxContext, "ended"> {
  const dialect = inboxDialects[options.dialect];
  if (source.database !== undefined && source.database !== dialect.database) {
    throw new TypeError(
      `dialect: "${options.dialect}" does not fit these connections, which are to ${source.database}`,
    );
  }
  if (options.listenNotify && dialect.channel === undefined) {
    throw new TypeError(
      `listenNotify takes a database that notifies; dialect "${options.dialect}" has none`,
    );
  }
  if (options.listenNotify && source.listen === undefined) {
    throw new TypeError("listenNotify takes a connection source that has a method listen");
  }
  return {
    source,
    dialect,
    options,
    statements: dialect.statements(options.schema, options),
    log: new Log(options.logger),
    fields: { source: options.source },
  };
}

function isSignal(value: unknown): value is AbortSignal {
  return (
    isObject(value) && typeof value.aborted === "boolean" && hasMethods(value, ["addEventListener"])
  );
}
