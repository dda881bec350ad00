import type { ClaimedRow, LeaseStatements } from "../dialect/dialect.ts";
import { checkOut, giveBack } from "../driver/checkout.ts";
import type { Connection } from "../driver/connection.ts";
import { LeaseKeeper } from "../engine/lease-keeper.ts";
import type { Claim, Performance, Work } from "../engine/work.ts";
import { asError } from "../errors.ts";
import { orAbort, timeLimit } from "../time-limit.ts";
import { runActions, runAlone } from "./actions.ts";
import { Ending } from "./ending.ts";
import { FormReport } from "./form-report.ts";
import type { FormSettings } from "./form-settings.ts";
import { GroupWalk } from "./group-walk.ts";
import { lastWait, untilEnded } from "./handler-end.ts";
import type { LeaseContext } from "./lease-context.ts";
import { LeaseDelivery, type LeasedRow } from "./lease-delivery.ts";
import { extendLeases } from "./lease-extension.ts";
import { LeaseSettler, type Settled } from "./lease-settler.ts";
import { LeaseTransactions } from "./lease-transactions.ts";
import type { Verdict } from "./reaction.ts";
import { releaseAll } from "./releasing.ts";
import { TableEvents } from "./table-events.ts";

/**
 * The lease form: a claim writes when it ends, and commits at once; no connection is held while the
 * handler runs. The lease's end, exactly as the database has it, and the attempt together are the token
 * that every later statement must show.
 *
 *     claim, COMMIT --> look again (fifo) --> in hand: the keeper extends it, each time a new token
 *        in hand --handler--> settlement --answered---------------> settled
 *           |                     |--token is not ours any more---> lost: nothing was changed
 *           |                     \--failed: tried for a lease's length, then left to the lease
 *           |--extension finds it lost, or its end passes---------> the signal aborts: lost
 *           \--stop: unstarted, or cut off and ended -------------> released, its attempt given back
 *
 * Of two claims of one fifo group that could not see each other, the one that commits later sees the
 * other when it looks again, and goes back; no handler starts before that. (Both may step back: they
 * part by chance before the next try.)
 *
 * Settlements share statements; see {@link LeaseSettler}. In transactional mode they commit with the
 * handler's writes; see {@link LeaseTransactions}.
 */
export class LeaseForm implements Work<LeaseDelivery> {
  readonly #context: LeaseContext;
  readonly #keeper: LeaseKeeper<LeaseDelivery>;
  readonly #settler: LeaseSettler;
  readonly #transactions: LeaseTransactions | undefined;
  readonly #walk: GroupWalk;
  readonly #ending: Ending;
  /** Aborts when the subscription stops; until the first claim there is nothing to stop. */
  #stop: AbortSignal = new AbortController().signal;

  constructor(settings: FormSettings, statements: LeaseStatements) {
    this.#ending = new Ending(settings.source);
    const { canRenew, clock, fields, leaseMs, log, transactional } = settings;
    const context: LeaseContext = {
      settings,
      statements,
      events: new TableEvents(settings, statements),
      report: new FormReport(settings),
      ended: this.#ending.signal,
    };
    this.#context = context;
    this.#walk = new GroupWalk(context.events, statements.walkedTo);
    this.#settler = new LeaseSettler(context);
    if (transactional) this.#transactions = new LeaseTransactions(context);
    this.#keeper = new LeaseKeeper({
      clock,
      log,
      fields,
      leaseMs,
      everyMs: leaseMs / 2,
      extend: canRenew ? (round, signal) => extendLeases(context, round, signal) : undefined,
    });
  }

  async open(signal: AbortSignal): Promise<void> {
    this.#stop = signal;
  }

  async close(): Promise<void> {
    this.#keeper.stop();
    await this.#ending.end();
  }

  async claim(limit: number, stop: AbortSignal): Promise<Claim<LeaseDelivery>> {
    const { clock, leaseMs, observer, source } = this.#context.settings;
    const patience = timeLimit(clock, leaseMs, "there was no connection for a claim", stop);
    const connection = await checkOut(source, patience.signal).finally(() => patience.cancel());
    // An answer that takes longer than the lease is worth nothing: its leases have ended.
    const budget = timeLimit(clock, leaseMs, "the claim was not answered within the lease");
    try {
      const sentAt = clock.monotonic();
      const claim = await orAbort(this.#claimOn(connection, limit), budget.signal);
      await giveBack(connection);
      this.#keeper.hold(claim.deliveries, sentAt);
      const rows = claim.deliveries.flatMap((delivery) => delivery.rows);
      if (rows.length > 0) observer.claimed(rows);
      return claim;
    } catch (error) {
      await giveBack(connection, asError(error));
      throw error;
    } finally {
      budget.cancel();
    }
  }

  async #claimOn(connection: Connection, limit: number): Promise<Claim<LeaseDelivery>> {
    const { events, settings } = this.#context;
    const { batch, dialect } = settings;
    const wanted = limit * batch;
    const begin = dialect.beginShort;
    const { position } = this.#walk;
    const actions = [begin, events.claim(wanted, position.after), { kind: "commit" }] as const;
    const results = await runActions<ClaimedRow>(connection, actions);
    const rows = events.claimedRows(results[1]);
    if (rows.length === 0) await this.#walk.foundNothing(position, connection);
    else this.#walk.claimed(position, rows);
    let alone: readonly ClaimedRow[];
    try {
      alone = await this.#lookAgain(connection, rows);
    } catch (error) {
      // Nobody works what was claimed a moment ago: a group in doubt is not, either.
      await this.#release(new LeaseDelivery(rows).leased);
      throw error;
    }
    const deliveries: LeaseDelivery[] = [];
    for (let at = 0; at < alone.length; at += batch) {
      deliveries.push(new LeaseDelivery(alone.slice(at, at + batch)));
    }
    // Both sides of a collision may have stepped back: part by chance before the next try.
    if (alone.length < rows.length) {
      return { deliveries, rest: { afterMs: 5 + 45 * Math.random() } };
    }
    return { deliveries, rest: rows.length >= wanted ? "more" : "empty" };
  }

  /** Gives back what shares its group with another live claim, and answers what does not. */
  async #lookAgain(
    connection: Connection,
    rows: readonly ClaimedRow[],
  ): Promise<readonly ClaimedRow[]> {
    const { events, settings, statements } = this.#context;
    if (statements.lookAgain === undefined || rows.length === 0) return rows;
    const action = events.bound(statements.lookAgain, events.fence(rows));
    const found = await runActions<{ id: string }>(connection, [action]);
    const shared = new Set(found[0]?.rows.map(({ id }) => id));
    if (shared.size === 0) return rows;
    const backward = rows.filter(({ id }) => shared.has(id));
    await this.#release(new LeaseDelivery(backward).leased, connection);
    settings.log.info("another worker has a message of the same group; this one goes back", {
      event: "claim_collided",
      ...settings.fields,
      ids: [...shared],
    });
    return rows.filter(({ id }) => !shared.has(id));
  }

  async giveBack(deliveries: readonly LeaseDelivery[]): Promise<void> {
    for (const delivery of deliveries) this.#keeper.letGo(delivery);
    await this.#release(deliveries.flatMap(({ leased }) => leased));
    for (const delivery of deliveries) this.#context.report.unstarted(delivery);
  }

  async perform(delivery: LeaseDelivery): Promise<Performance> {
    try {
      return this.#transactions === undefined
        ? await this.#perform(delivery)
        : await this.#performIn(this.#transactions, delivery);
    } finally {
      this.#keeper.letGo(delivery);
    }
  }

  async #perform(delivery: LeaseDelivery): Promise<Performance> {
    const { clock, reaction } = this.#context.settings;
    const patience = lastWait(clock, delivery.signal);
    const reacting = reaction.react(delivery.rows, delivery, undefined);
    const ended = await untilEnded(reacting, delivery.signal, patience.signal);
    patience.cancel();
    switch (ended.ended) {
      case "returned":
        return await this.#settle(delivery, ended.answer.verdicts);
      case "threw":
        return await this.#fail(delivery, ended.error);
      case "interrupted":
      case "left behind":
        return await this.#interrupted(delivery, ended.ended);
    }
  }

  async #performIn(transactions: LeaseTransactions, delivery: LeaseDelivery): Promise<Performance> {
    const { report } = this.#context;
    const handling = await transactions.handle(delivery, this.#stop);
    switch (handling.result) {
      case "completed":
        return "settled";
      case "declined":
        return await this.#settle(delivery, handling.answer.verdicts);
      case "failed":
        return await this.#fail(delivery, handling.error);
      case "unstarted":
        await this.giveBack([delivery]);
        return "settled";
      case "redelivery":
        await this.#goBack(delivery);
        report.redelivered(delivery, handling.error);
        return "unavailable";
      case "unavailable":
        await this.#goBack(delivery);
        report.noConnection(delivery, handling.error);
        return "unavailable";
      case "interrupted":
      case "left behind":
        return await this.#interrupted(delivery, handling.result);
      case "unknown":
        if (await transactions.isCommitted(delivery, handling)) return "settled";
        return await this.#fail(delivery, handling.error);
    }
  }

  async #fail(delivery: LeaseDelivery, error: unknown): Promise<Performance> {
    return await this.#settle(
      delivery,
      await this.#context.settings.reaction.failed(delivery.rows, error),
    );
  }

  /** Settles each row on its own, with whatever else is to be settled at the time. */
  async #settle(delivery: LeaseDelivery, verdicts: readonly Verdict[]): Promise<Performance> {
    delivery.thaw();
    const settled = delivery.leased.map(async (row, index): Promise<Performance> => {
      const verdict = verdicts[index];
      return verdict === undefined ? "settled" : await this.#settleRow(delivery, row, verdict);
    });
    const performances = await Promise.all(settled);
    return performances.includes("unavailable") ? "unavailable" : "settled";
  }

  async #settleRow(
    delivery: LeaseDelivery,
    row: LeasedRow,
    verdict: Verdict,
  ): Promise<Performance> {
    const { events, report, settings } = this.#context;
    let settled: Settled;
    try {
      settled = await this.#settler.settle(delivery, row, verdict);
    } catch (error) {
      report.settlementFailed(delivery, events.eventOf(verdict), [row.row], error);
      return "unavailable";
    }
    if (settled === "settled") settings.observer.settled(row.row, verdict);
    else if (settled === "unknown") report.commitUnknown(delivery, [row.row], undefined);
    else report.lost(delivery, [row.row], delivery.lost);
    return "settled";
  }

  async #interrupted(
    delivery: LeaseDelivery,
    how: "interrupted" | "left behind",
  ): Promise<Performance> {
    const { report } = this.#context;
    if (how === "left behind") report.leftBehind(delivery);
    if (delivery.lost !== undefined) {
      report.lost(delivery, delivery.rows, delivery.lost);
      // Of a batch some rows may be ours still; the release knows by their tokens.
      if (delivery.rows.length > 1 && how === "interrupted") await this.#goBack(delivery);
      return "settled";
    }
    if (how === "interrupted") await this.#goBack(delivery);
    report.abandoned(delivery, how === "interrupted");
    return "settled";
  }

  async #goBack(delivery: LeaseDelivery): Promise<void> {
    this.#keeper.letGo(delivery);
    await delivery.freeze();
    await this.#release(delivery.leased);
  }

  #release(rows: readonly LeasedRow[], at?: Connection): Promise<void> {
    const { events, settings, statements } = this.#context;
    const { clock, fields, leaseMs, log, source } = settings;
    const releaseOn = async (connection: Connection, round: readonly LeasedRow[]) => {
      const action = events.bound(statements.release, events.fence(round));
      const results = await runAlone<{ id: string }>(connection, settings.dialect, [action]);
      return new Set(results[0]?.rows.map(({ id }) => id));
    };
    return releaseAll({ at, clock, fields, leaseMs, log, releaseOn, source }, rows);
  }
}
