import { pause } from "../clock.ts";
import type { ClaimedRow } from "../dialect/dialect.ts";
import type { QueryResult } from "../driver/connection.ts";
import { Backoff } from "../engine/backoff.ts";
import type { Performance } from "../engine/work.ts";
import { asError } from "../errors.ts";
import { type Action, runActions } from "./actions.ts";
import type { AdvisoryContext } from "./advisory-context.ts";
import type { AdvisoryDelivery } from "./advisory-delivery.ts";
import { keyLocks, locksByCall, unlockAll } from "./key-locks.ts";
import type { Verdict } from "./reaction.ts";
import { whatRefused } from "./refusal.ts";
import { type Settlement, settlementsOf } from "./table-events.ts";

/**
 * Settles rows on the session that holds their keys: in short transactions of its own, and the keys are
 * released in the same flush, behind the COMMIT. While the session lives nobody else can have the rows,
 * so a settlement that the database asks to try again is tried again.
 */
export class AdvisorySettlement {
  readonly #context: AdvisoryContext;

  constructor(context: AdvisoryContext) {
    this.#context = context;
  }

  /** All rows together; where that fails, each by itself: one that cannot be settled costs no other. */
  async settle(delivery: AdvisoryDelivery, verdicts: readonly Verdict[]): Promise<Performance> {
    const settlements = settlementsOf(delivery.rows, verdicts);
    const together = await this.#commit(delivery, settlements, true);
    if (together === undefined) return "settled";
    if (settlements.length === 1 || delivery.doubt !== undefined) {
      return this.#refused(delivery, settlements, together.error);
    }
    let performance: Performance = "settled";
    for (const settlement of settlements) {
      const alone = await this.#commit(delivery, [settlement], false);
      if (alone === undefined) continue;
      performance = this.#refused(delivery, [settlement], alone.error);
    }
    return performance;
  }

  /** Settles what the policy says of rows whose handler failed. */
  async fail(delivery: AdvisoryDelivery, error: unknown): Promise<Performance> {
    const { reaction } = this.#context.settings;
    return await this.settle(delivery, await reaction.failed(delivery.rows, error));
  }

  /** The shutdown cut it off, and its handler has ended: the attempt was none. */
  async abandon(delivery: AdvisoryDelivery): Promise<Performance> {
    await this.giveBack(delivery);
    this.#context.report.abandoned(delivery, true);
    return "settled";
  }

  /** The handler does not end: the connection is closed, so that its key is free. */
  leaveBehind(delivery: AdvisoryDelivery, reason: unknown): Performance {
    const { report } = this.#context;
    delivery.doubt = asError(reason);
    report.leftBehind(delivery);
    report.abandoned(delivery, true);
    return "settled";
  }

  /** Takes the claim's attempt off again, and releases the keys. */
  async giveBack(delivery: AdvisoryDelivery): Promise<void> {
    const { events, settings, statements } = this.#context;
    const release = events.bound(statements.release, events.fence(delivery.rows));
    try {
      await this.#run(delivery, [this.#begin(), release, { kind: "commit" }], true);
    } catch (error) {
      delivery.doubt ??= asError(error);
      settings.log.warn("the attempt of a row that was given back could not be taken off again", {
        event: "release_failed",
        ...settings.fields,
        ids: delivery.rows.map(({ id }) => id),
        error,
      });
    }
  }

  /** Releases the keys, unless that has happened; any doubt puts the connection in doubt. */
  async unlock(delivery: AdvisoryDelivery): Promise<void> {
    if (delivery.isUnlocked || delivery.doubt !== undefined) return;
    const { settings, statements } = this.#context;
    try {
      if (!locksByCall(settings, statements)) {
        await this.#run(delivery, [], true);
        return;
      }
      const locks = keyLocks(settings, delivery.connection);
      const failures = await delivery.run(settings, () => unlockAll(locks, delivery.locks));
      if (failures.length === 0) delivery.isUnlocked = true;
      else this.#notUnlocked(delivery, failures[0]);
    } catch (error) {
      this.#notUnlocked(delivery, error);
    }
  }

  /** Behind a COMMIT: releases the keys, where that is a statement. What is a call comes after it. */
  unlocking(delivery: AdvisoryDelivery): readonly Action[] {
    const { events, settings, statements } = this.#context;
    const { unlock } = statements;
    if (unlock === undefined || locksByCall(settings, statements)) return [];
    return delivery.locks.map((lock) => events.bound(unlock, { lock }));
  }

  /** Reads what {@link unlocking} was answered. */
  unlocked(delivery: AdvisoryDelivery, results: readonly QueryResult[]): void {
    if (locksByCall(this.#context.settings, this.#context.statements)) return;
    if (delivery.unlocked(results)) return;
    this.#notUnlocked(
      delivery,
      new Error("the session did not hold a lock that it was to release"),
    );
  }

  #notUnlocked(delivery: AdvisoryDelivery, error: unknown): void {
    const { fields, log } = this.#context.settings;
    delivery.doubt ??= asError(error);
    log.warn("a key was not surely released: its connection is closed, and what it holds with it", {
      event: "unlock_failed",
      ...fields,
      id: delivery.id,
      error,
    });
  }

  /** Tells the observer what was settled; `ids`: what the statements answered. */
  committed(
    delivery: AdvisoryDelivery,
    settlements: readonly Settlement<ClaimedRow>[],
    ids: ReadonlySet<unknown>,
  ): void {
    const { events, report, settings } = this.#context;
    const gone: ClaimedRow[] = [];
    for (const group of events.grouped(settlements)) {
      const isSilent = events.settle(group).length === 0;
      for (const { row, verdict } of group.settlements) {
        if (isSilent || ids.has(row.id)) settings.observer.settled(row, verdict);
        else gone.push(row);
      }
    }
    report.lost(delivery, gone, undefined);
  }

  /** Answers what failed, or nothing where all is settled. */
  async #commit(
    delivery: AdvisoryDelivery,
    settlements: readonly Settlement<ClaimedRow>[],
    unlocks: boolean,
  ): Promise<{ readonly error: unknown } | undefined> {
    const { ended, events, settings } = this.#context;
    const { clock, dialect, leaseMs } = settings;
    const settling = events.grouped(settlements).flatMap((group) => events.settle(group));
    const begin = this.#begin();
    const actions: Action[] = settling.length > 0 ? [begin, ...settling, { kind: "commit" }] : [];
    const until = clock.monotonic() + leaseMs;
    const backoff = new Backoff(20, 1000);
    for (;;) {
      try {
        const results = await this.#run(delivery, actions, unlocks);
        const ids = new Set(results.flatMap(({ rows }) => rows.map(({ id }) => id)));
        this.committed(delivery, settlements, ids);
        return undefined;
      } catch (error) {
        const { kind } = whatRefused(dialect.errors, error, undefined);
        if (kind === "unknown") delivery.doubt = asError(error);
        await delivery.rollBack(settings);
        const isLate = clock.monotonic() >= until || ended.aborted;
        if (kind !== "redelivery" || delivery.doubt !== undefined || isLate) return { error };
        await pause(clock, backoff.next(), ended);
      }
    }
  }

  #refused(
    delivery: AdvisoryDelivery,
    settlements: readonly Settlement<ClaimedRow>[],
    error: unknown,
  ): Performance {
    const { events, report } = this.#context;
    for (const group of events.grouped(settlements)) {
      const rows = group.settlements.map(({ row }) => row);
      if (delivery.doubt === undefined) report.settlementFailed(delivery, group.event, rows, error);
      else if (events.settle(group).length > 0) report.commitUnknown(delivery, rows, error);
      else report.lost(delivery, rows, error);
    }
    return "unavailable";
  }

  /** Runs actions, and unlocks behind them; answers what the actions answered. */
  async #run(delivery: AdvisoryDelivery, actions: readonly Action[], unlocks: boolean) {
    const all = [...actions, ...(unlocks ? this.unlocking(delivery) : [])];
    const results = await delivery.run(this.#context.settings, () =>
      runActions(delivery.connection, all),
    );
    if (unlocks) this.unlocked(delivery, results.slice(actions.length));
    return results.slice(0, actions.length);
  }

  #begin() {
    const { dialect } = this.#context.settings;
    return dialect.beginShort;
  }
}
