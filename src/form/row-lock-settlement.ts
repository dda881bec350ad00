import type { ClaimedRow, RowLockStatements } from "../dialect/dialect.ts";
import type { QueryResult } from "../driver/connection.ts";
import type { Performance } from "../engine/work.ts";
import { asError, SettlementError } from "../errors.ts";
import { tableLabel } from "../table/description.ts";
import { type Action, runActions } from "./actions.ts";
import { didCommit } from "./commit-truth.ts";
import type { FormReport } from "./form-report.ts";
import type { FormSettings } from "./form-settings.ts";
import { keepsWrites, type Reacted, type Verdict } from "./reaction.ts";
import { type Refusal, whatRefused } from "./refusal.ts";
import type { RowLockDelivery } from "./row-lock-delivery.ts";
import { retake } from "./row-lock-retaking.ts";
import { type Settlement, settlementsOf, type TableEvents } from "./table-events.ts";
import { checkSteps } from "./transactional-handling.ts";

/**
 * Settles rows in the transaction that has locked them, and commits it. All of it is one flush:
 *
 *     [mark] [undo the handler's writes] [savepoint] settlements [deferred checks] COMMIT --> settled
 *
 * and when that fails:
 *
 *     no answer --------------> the transaction's own id tells, or nobody does
 *     try again, says the database --> rolled back; no attempt is spent
 *     the handler's writes fail -----> undone; what becomes of the rows is decided anew, and settled
 *     the transaction is over -------> the rows are taken again in another one, and settled there
 *     one row of a batch ------------> row by row, each behind a savepoint: its siblings are settled
 *     ... and it was acknowledged ---> as if the writes had failed: they are that row's too
 *     a settlement by itself --------> rolled back; the row is claimable at once
 *
 * The handler's writes stand behind a savepoint that the claim has set. They commit when a row is
 * acknowledged (in a batch: any row, since one transaction stands for all of them). What a COMMIT would
 * find is checked before it, where the database can: afterwards the rows are nobody's, and nothing could
 * be settled any more.
 */
export class RowLockSettlement {
  readonly #context: RowLockContext;

  constructor(context: RowLockContext) {
    this.#context = context;
  }

  /** `firstFailure`: the first query of the handler that failed, if one did. */
  async settle(
    delivery: RowLockDelivery,
    reacted: Reacted,
    firstFailure: unknown,
  ): Promise<Performance> {
    const { settings } = this.#context;
    const keeps = settings.transactional && keepsWrites(reacted);
    const settlements = settlementsOf(delivery.rows, reacted.verdicts);
    const failure = await this.#commitAll(delivery, settlements, keeps);
    if (failure === undefined) return "settled";
    const { errors } = settings.dialect;
    const refusal = whatRefused(errors, failure.error, firstFailure);
    const concluded = await this.#concluded(delivery, settlements, refusal);
    if (concluded !== undefined) return concluded;
    if (errors.isTransactionOver?.(failure.error) === true && !delivery.isHeldAnew) {
      return await this.settleElsewhere(delivery, reacted, refusal.error);
    }
    const isHandlers =
      keeps && (settlements.length === 1 || errors.isTransactionAborted(failure.error));
    if (isHandlers) return await this.#settleAnew(delivery, refusal.error);
    if (settlements.length > 1) return await this.#oneByOne(delivery, settlements, keeps);
    await delivery.rollBack(settings);
    this.#failed(delivery, settlements, refusal.error);
    return "unavailable";
  }

  /**
   * The transaction has ended, by `error` or before it: settles what it takes again of its rows in another one.
   * Nothing that the handler wrote is there to be kept.
   */
  async settleElsewhere(
    delivery: RowLockDelivery,
    reacted: Reacted,
    error: unknown,
  ): Promise<Performance> {
    const { report, settings } = this.#context;
    const { rows } = delivery;
    const others = await retake(this.#context, delivery);
    report.notRetaken(delivery, others, error);
    if (others.length === rows.length) return "unavailable";
    const decided = new Map(rows.map((row, index) => [row, reacted.verdicts[index]]));
    const verdicts = keepsWrites(reacted)
      ? await settings.reaction.failed(delivery.rows, error)
      : delivery.rows.flatMap((row) => decided.get(row) ?? []);
    return await this.settle(delivery, { verdicts, threw: true }, undefined);
  }

  /** Answers what failed, or nothing where all is settled. */
  async #commitAll(
    delivery: RowLockDelivery,
    settlements: readonly Settlement<ClaimedRow>[],
    keeps: boolean,
  ): Promise<{ readonly error: unknown } | undefined> {
    const { events, settings } = this.#context;
    const settling = events.grouped(settlements).flatMap((group) => events.settle(group));
    if (settling.length === 0 && !keeps) {
      await delivery.rollBack(settings);
      for (const { row, verdict } of settlements) this.#settled(row, verdict);
      return undefined;
    }
    const undoing =
      settings.transactional && !keeps ? [this.#savepoint("handler", "rollback")] : [];
    const actions: Action[] = [
      // Before anything is settled: outside of its transaction each statement would commit by itself.
      ...(keeps ? checkSteps(settings.dialect.mark) : []),
      ...undoing,
      ...(settlements.length > 1 ? [this.#savepoint("settlement", "set")] : []),
      ...settling,
      ...(keeps ? this.#checks() : []),
    ];
    try {
      const isFinal = settlements.length === 1 && !keeps;
      const results = await this.#runAndCommit(delivery, actions, isFinal);
      const ids = new Set(results.flatMap(({ rows }) => rows.map(({ id }) => id)));
      this.#committed(delivery, settlements, ids);
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  /** What is over whoever's fault it was; undefined where the rows are to be settled otherwise. */
  async #concluded(
    delivery: RowLockDelivery,
    settlements: readonly Settlement<ClaimedRow>[],
    refusal: Refusal,
  ): Promise<Performance | undefined> {
    const { report, settings } = this.#context;
    const { error } = refusal;
    if (refusal.kind === "unknown") {
      delivery.doubt = asError(error);
      // Whoever is asked may need the place of this connection.
      await delivery.end();
      return await this.#askWhatBecame(delivery, settlements, error);
    }
    if (refusal.kind !== "redelivery") return undefined;
    await delivery.rollBack(settings);
    report.redelivered(delivery, error);
    return "unavailable";
  }

  async #askWhatBecame(
    delivery: RowLockDelivery,
    settlements: readonly Settlement<ClaimedRow>[],
    error: unknown,
  ): Promise<Performance> {
    const { ended, report, settings } = this.#context;
    switch (await didCommit({ ...settings, ended }, delivery.transactionId)) {
      case "committed":
        report.commitConfirmed(delivery, error);
        for (const { row, verdict } of settlements) this.#settled(row, verdict);
        return "settled";
      case "not committed":
        report.sessionLost(delivery, error);
        return "unavailable";
      case "unknown":
        report.commitUnknown(delivery, delivery.rows, error);
        return "unavailable";
    }
  }

  /** The handler's writes cannot commit: they go, and its rows become what the policy says. */
  async #settleAnew(delivery: RowLockDelivery, error: unknown): Promise<Performance> {
    const { reaction } = this.#context.settings;
    const verdicts = await reaction.failed(delivery.rows, error);
    return await this.settle(delivery, { verdicts, threw: true }, undefined);
  }

  async #oneByOne(
    delivery: RowLockDelivery,
    settlements: readonly Settlement<ClaimedRow>[],
    keeps: boolean,
  ): Promise<Performance> {
    const { errors } = this.#context.settings.dialect;
    const failed: { readonly settlement: Settlement<ClaimedRow>; readonly error: unknown }[] = [];
    const settled: Settlement<ClaimedRow>[] = [];
    const ids = new Set<unknown>();
    const fallBack = this.#savepoint("settlement", "rollback");
    // A first failure of all together has left the transaction where it was before it.
    let undoing: readonly Action[] = [fallBack];
    for (const settlement of settlements) {
      const [group] = this.#context.events.grouped([settlement]);
      const settling = group === undefined ? [] : this.#context.events.settle(group);
      try {
        const actions = [...undoing, this.#savepoint("settlement", "set"), ...settling];
        const results = await this.#run(delivery, actions);
        undoing = [];
        settled.push(settlement);
        for (const { rows } of results) for (const { id } of rows) ids.add(id);
      } catch (error) {
        const concluded = await this.#concluded(
          delivery,
          settlements,
          whatRefused(errors, error, undefined),
        );
        if (concluded !== undefined) return concluded;
        if (keeps && settlement.verdict.kind === "ack") {
          return await this.#settleAnew(delivery, this.#notAcked(settlement, error));
        }
        undoing = [fallBack];
        failed.push({ settlement, error });
      }
    }
    try {
      const checks = keeps ? this.#checks() : [];
      await this.#runAndCommit(delivery, [...undoing, ...checks], !keeps);
    } catch (error) {
      const refusal = whatRefused(errors, error, undefined);
      const concluded = await this.#concluded(delivery, settlements, refusal);
      if (concluded !== undefined) return concluded;
      if (keeps) return await this.#settleAnew(delivery, error);
      await delivery.rollBack(this.#context.settings);
      this.#failed(delivery, settlements, error);
      return "unavailable";
    }
    this.#committed(delivery, settled, ids);
    for (const { settlement, error } of failed) this.#failed(delivery, [settlement], error);
    return failed.length > 0 ? "unavailable" : "settled";
  }

  #notAcked({ row, verdict }: Settlement<ClaimedRow>, cause: unknown): SettlementError {
    const { events, settings } = this.#context;
    return new SettlementError(
      `"${events.eventOf(verdict)}" failed on table ${tableLabel(settings.table)} for row ${row.id}: nothing that its batch wrote was kept`,
      { cause },
    );
  }

  #failed(
    delivery: RowLockDelivery,
    settlements: readonly Settlement<ClaimedRow>[],
    error: unknown,
  ): void {
    const { events, report } = this.#context;
    for (const { event, settlements: members } of events.grouped(settlements)) {
      const rows = members.map(({ row }) => row);
      report.settlementFailed(delivery, event, rows, error);
    }
  }

  /** Committed; a row that no statement answered was there no more (its handler took it away). */
  #committed(
    delivery: RowLockDelivery,
    settlements: readonly Settlement<ClaimedRow>[],
    ids: ReadonlySet<unknown>,
  ): void {
    const { events, report } = this.#context;
    const gone: ClaimedRow[] = [];
    for (const group of events.grouped(settlements)) {
      const isSilent = events.settle(group).length === 0;
      for (const { row, verdict } of group.settlements) {
        if (isSilent || ids.has(row.id)) this.#settled(row, verdict);
        else gone.push(row);
      }
    }
    report.lost(delivery, gone, undefined);
  }

  #settled(row: ClaimedRow, verdict: Verdict): void {
    this.#context.settings.observer.settled(row, verdict);
  }

  #run(delivery: RowLockDelivery, actions: readonly Action[]) {
    return delivery.run(this.#context.settings, () => runActions(delivery.connection, actions));
  }

  /**
   * The COMMIT travels with the actions, unless a failure among them is to be settled in the same
   * transaction and the connection cannot promise that there is one then.
   */
  async #runAndCommit(
    delivery: RowLockDelivery,
    actions: readonly Action[],
    isFinal: boolean,
  ): Promise<QueryResult[]> {
    const { keepsFailedTransaction, pipeline } = delivery.connection;
    const commit: Action = { kind: "commit" };
    if (isFinal || pipeline === undefined || keepsFailedTransaction === true) {
      return await this.#run(delivery, [...actions, commit]);
    }
    const results = await this.#run(delivery, actions);
    await this.#run(delivery, [commit]);
    return results;
  }

  #savepoint(of: "handler" | "settlement", what: "set" | "rollback"): Action {
    return { kind: "query", text: this.#context.settings.dialect.savepoint(of)[what] };
  }

  #checks(): readonly Action[] {
    const { checkDeferred } = this.#context.settings.dialect;
    return checkDeferred === undefined ? [] : [{ kind: "query", text: checkDeferred }];
  }
}

export interface RowLockContext {
  readonly settings: FormSettings;
  readonly statements: RowLockStatements;
  readonly events: TableEvents;
  readonly report: FormReport;
  /** Aborts when the subscription has ended. */
  readonly ended: AbortSignal;
}
