import type { AdvisoryLockStatements, ClaimedRow } from "../dialect/dialect.ts";
import type { Connection } from "../driver/connection.ts";
import type { Claim, Performance, Work } from "../engine/work.ts";
import { asError } from "../errors.ts";
import { runActions } from "./actions.ts";
import type { AdvisoryContext } from "./advisory-context.ts";
import { AdvisoryDelivery } from "./advisory-delivery.ts";
import { AdvisorySettlement } from "./advisory-settlement.ts";
import { AdvisoryTransactions } from "./advisory-transactions.ts";
import { Ending } from "./ending.ts";
import { FormReport } from "./form-report.ts";
import type { FormSettings } from "./form-settings.ts";
import { lastWait, untilEnded } from "./handler-end.ts";
import { claimOnSession } from "./session-delivery.ts";
import { TableEvents } from "./table-events.ts";

/**
 * The advisory lock form: a session locks the key of a row, takes the row if it is still claimable,
 * counts its attempt and commits. While the handler runs the session holds that lock, and no
 * transaction is open.
 *
 *     claim, COMMIT --no rows--> the connection goes back
 *         |
 *         \--rows--> held --handler--> settlement, COMMIT, unlock --> settled
 *                     |                    |--failed: tried again, or the row comes again
 *                     |                    \--no answer: the session is gone, and its locks with it
 *                     \--stop: unstarted, or cut off and ended --> attempt given back, unlock
 *
 *     unlock --confirmed--> the connection goes back to its pool
 *         \---- not ------> the connection is closed, which releases all it holds
 *
 * The order is what makes it safe: a key is released only after the commit that settles its row, never
 * in one transaction with it, since the next claimer would still see the row as it was. A claim that
 * fails may have locked keys already, so its connection is closed.
 */
export class AdvisoryLockForm implements Work<AdvisoryDelivery> {
  readonly #context: AdvisoryContext;
  readonly #settlement: AdvisorySettlement;
  readonly #transactions: AdvisoryTransactions | undefined;
  readonly #ending: Ending;
  /** Aborts when the subscription stops; until the first claim there is nothing to stop. */
  #stop: AbortSignal = new AbortController().signal;
  #released = 0;
  #closed = 0;

  constructor(settings: FormSettings, statements: AdvisoryLockStatements) {
    this.#ending = new Ending(settings.source);
    this.#context = {
      settings,
      statements,
      events: new TableEvents(settings, statements),
      report: new FormReport(settings),
      ended: this.#ending.signal,
    };
    this.#settlement = new AdvisorySettlement(this.#context);
    if (settings.transactional) {
      this.#transactions = new AdvisoryTransactions(this.#context, this.#settlement);
    }
  }

  /** Since the stop: locks that were released, and connections that were closed. */
  get counts(): { readonly released: number; readonly closed: number } {
    return { released: this.#released, closed: this.#closed };
  }

  async open(signal: AbortSignal): Promise<void> {
    this.#stop = signal;
  }

  async close(): Promise<void> {
    await this.#ending.end();
    const { fields, log } = this.#context.settings;
    const { closed, released } = this.counts;
    if (closed + released === 0) return;
    log.info("the stop gave back the locks that were held", {
      event: "locks_released",
      ...fields,
      released,
      closed,
    });
  }

  /** Claims for one handler call, however many there is room for: each takes a connection. */
  async claim(_limit: number, stop: AbortSignal): Promise<Claim<AdvisoryDelivery>> {
    const { settings } = this.#context;
    const delivery = await claimOnSession(settings, stop, (connection) =>
      this.#claimOn(connection),
    );
    if (delivery === undefined) return { deliveries: [], rest: "empty" };
    settings.observer.claimed(delivery.rows);
    const isShort = delivery.rows.length < settings.batch;
    return { deliveries: [delivery], rest: isShort ? "empty" : "more" };
  }

  async #claimOn(connection: Connection): Promise<AdvisoryDelivery | undefined> {
    const { events, settings } = this.#context;
    const { batch, dialect } = settings;
    const begin = dialect.beginShort;
    const actions = [begin, events.claim(batch), { kind: "commit" }] as const;
    const results = await runActions<ClaimedRow & { lock: string }>(connection, actions);
    const rows = events.claimedRows(results[1]);
    if (rows.length === 0) return undefined;
    const locks = results[1]?.rows.map(({ lock }) => lock) ?? [];
    return new AdvisoryDelivery(rows, connection, locks);
  }

  async giveBack(deliveries: readonly AdvisoryDelivery[]): Promise<void> {
    await Promise.all(
      deliveries.map(async (delivery) => {
        await this.#settlement.giveBack(delivery);
        await this.#end(delivery);
        this.#context.report.unstarted(delivery);
      }),
    );
  }

  async perform(delivery: AdvisoryDelivery): Promise<Performance> {
    const patience = lastWait(this.#context.settings.clock, delivery.signal);
    try {
      return this.#transactions === undefined
        ? await this.#perform(delivery, patience.signal)
        : await this.#transactions.perform(delivery, patience.signal);
    } catch (error) {
      delivery.doubt ??= asError(error);
      throw error;
    } finally {
      patience.cancel();
      await this.#end(delivery);
    }
  }

  async #perform(delivery: AdvisoryDelivery, patience: AbortSignal): Promise<Performance> {
    const { reaction } = this.#context.settings;
    const reacting = reaction.react(delivery.rows, delivery, undefined);
    const ended = await untilEnded(reacting, delivery.signal, patience);
    switch (ended.ended) {
      case "returned":
        return await this.#settlement.settle(delivery, ended.answer.verdicts);
      case "threw":
        return await this.#settlement.fail(delivery, ended.error);
      case "interrupted":
        return await this.#settlement.abandon(delivery);
      case "left behind":
        return this.#settlement.leaveBehind(delivery, ended.reason);
    }
  }

  /** Releases what is still locked; without a confirmation the connection is closed. */
  async #end(delivery: AdvisoryDelivery): Promise<void> {
    await this.#settlement.unlock(delivery);
    if (this.#stop.aborted) {
      if (delivery.doubt === undefined) this.#released += delivery.locks.length;
      else this.#closed += 1;
    }
    await delivery.end();
  }
}
