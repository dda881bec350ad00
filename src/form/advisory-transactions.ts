import { bind } from "../dialect/bind.ts";
import type { Performance } from "../engine/work.ts";
import { asError } from "../errors.ts";
import { orAbort } from "../time-limit.ts";
import { type Action, runActions } from "./actions.ts";
import type { AdvisoryContext } from "./advisory-context.ts";
import type { AdvisoryDelivery } from "./advisory-delivery.ts";
import type { AdvisorySettlement } from "./advisory-settlement.ts";
import { didCommit } from "./commit-truth.ts";
import { HandlerTransaction } from "./handler-transaction.ts";
import { keepsWrites, type Reacted } from "./reaction.ts";
import { whatRefused } from "./refusal.ts";
import { settlementsOf } from "./table-events.ts";
import { checkSteps, markStep, runInTransaction } from "./transactional-handling.ts";

/**
 * Handlers whose writes commit with the settlement, on the session that holds the key.
 *
 *     BEGIN (with the handler's first query) --> handler --> settlements, COMMIT, unlock
 *
 * Everything but an acknowledgement rolls back first; the key is held all the while, so what becomes of
 * the row is settled in a transaction after it.
 */
export class AdvisoryTransactions {
  readonly #context: AdvisoryContext;
  readonly #settlement: AdvisorySettlement;

  constructor(context: AdvisoryContext, settlement: AdvisorySettlement) {
    this.#context = context;
    this.#settlement = settlement;
  }

  async perform(delivery: AdvisoryDelivery, patience: AbortSignal): Promise<Performance> {
    const { report, settings } = this.#context;
    const { dialect, prepare, reaction, table } = settings;
    const identity = dialect.transactions?.id;
    const transaction = new HandlerTransaction(delivery.connection, {
      begin: dialect.begin(table.isolation ?? table.mode),
      placeholder: dialect.placeholder,
      prepare,
      identify: identity && bind(identity, {}),
      errors: dialect.errors,
      mark: markStep(dialect.mark),
    });
    try {
      await orAbort(transaction.openForBareClient(), patience);
    } catch (error) {
      delivery.doubt = asError(error);
      report.noConnection(delivery, error);
      return "unavailable";
    }
    const ended = await runInTransaction(transaction, delivery, patience, (facade) =>
      reaction.react(delivery.rows, delivery, facade),
    );
    if (ended.ended === "left behind") {
      return this.#settlement.leaveBehind(delivery, ended.reason);
    }
    const isKept = ended.ended === "returned" && keepsWrites(ended.answer);
    const { rolledBackBy, unseenFailure } = transaction;
    if (isKept && rolledBackBy !== undefined) {
      await delivery.rollBack(settings);
      if (!dialect.errors.isTransient(rolledBackBy)) {
        return await this.#settlement.fail(delivery, rolledBackBy);
      }
      return await this.#redeliver(delivery, rolledBackBy);
    }
    if (isKept && unseenFailure === undefined) {
      return await this.#commit(delivery, transaction, ended.answer);
    }
    if (transaction.isOpen) await delivery.rollBack(settings);
    if (isKept) return await this.#settlement.fail(delivery, unseenFailure);
    switch (ended.ended) {
      case "returned":
        return await this.#settlement.settle(delivery, ended.answer.verdicts);
      case "threw":
        return await this.#settlement.fail(delivery, ended.error);
      case "interrupted":
        return await this.#settlement.abandon(delivery);
    }
  }

  async #redeliver(delivery: AdvisoryDelivery, error: unknown): Promise<Performance> {
    await this.#settlement.giveBack(delivery);
    this.#context.report.redelivered(delivery, error);
    return "unavailable";
  }

  async #commit(
    delivery: AdvisoryDelivery,
    transaction: HandlerTransaction,
    { verdicts }: Reacted,
  ): Promise<Performance> {
    const { ended, events, report, settings } = this.#context;
    const settlements = settlementsOf(delivery.rows, verdicts);
    const before = transaction.isOpen
      ? checkSteps(settings.dialect.mark)
      : transaction.openingSteps();
    const actions: Action[] = [
      ...before,
      ...events.grouped(settlements).flatMap((group) => events.settle(group)),
      { kind: "commit" },
    ];
    try {
      const results = await delivery.run(settings, () =>
        runActions(delivery.connection, [...actions, ...this.#settlement.unlocking(delivery)]),
      );
      this.#settlement.unlocked(delivery, results.slice(actions.length));
      const answers = results.slice(before.length, actions.length);
      const ids = new Set(answers.flatMap(({ rows }) => rows.map(({ id }) => id)));
      this.#settlement.committed(delivery, settlements, ids);
      return "settled";
    } catch (error) {
      const refusal = whatRefused(settings.dialect.errors, error, transaction.firstFailure);
      if (refusal.kind !== "unknown") await delivery.rollBack(settings);
      switch (refusal.kind) {
        case "redelivery":
          return await this.#redeliver(delivery, error);
        case "failed":
        case "lost":
          return await this.#settlement.fail(delivery, refusal.error);
        case "unknown":
          break;
      }
      delivery.doubt = asError(error);
      // Whoever is asked may need the place of this connection.
      await delivery.end();
      const became = await didCommit({ ...settings, ended }, transaction.id);
      if (became === "committed") {
        report.commitConfirmed(delivery, error);
        for (const { row, verdict } of settlements) settings.observer.settled(row, verdict);
        return "settled";
      }
      if (became === "not committed") report.sessionLost(delivery, error);
      else report.commitUnknown(delivery, delivery.rows, error);
      return "unavailable";
    }
  }
}
