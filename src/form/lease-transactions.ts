import { bind } from "../dialect/bind.ts";
import type { Action } from "./actions.ts";
import { didCommit } from "./commit-truth.ts";
import type { HandlerFacade } from "./handler-transaction.ts";
import type { LeaseContext } from "./lease-context.ts";
import type { LeaseDelivery } from "./lease-delivery.ts";
import { readBack } from "./lease-read-back.ts";
import type { Reacted } from "./reaction.ts";
import { settlementsOf } from "./table-events.ts";
import { type Handling, handleInTransaction } from "./transactional-handling.ts";

/**
 * Leased rows whose settlement commits with the handler's writes.
 *
 *     BEGIN (with the handler's first query) --> handler --> settlements, COMMIT: only while all acked
 *                                                            rows are ours, else the transaction fails
 *
 * Where the transaction reads by one snapshot (repeatable read and above), or nobody knows, an extension would make its
 * settlement fail: the row has changed since. There the first statement locks the row by its fence;
 * claims pass it and the keeper leaves it alone until the transaction ends.
 *
 * A batch's writes commit if any of its rows is acknowledged; the other rows are settled in the same
 * transaction then. Without one nothing commits, and the rows are settled as usual.
 */
export class LeaseTransactions {
  readonly #context: LeaseContext;
  readonly #locksFirst: boolean;

  constructor(context: LeaseContext) {
    this.#context = context;
    const { dialect, isolation } = context.settings;
    const conflicting = dialect.features.conflictingIsolations ?? [];
    this.#locksFirst = isolation === undefined || conflicting.includes(isolation);
  }

  async handle(delivery: LeaseDelivery, stop: AbortSignal): Promise<Handling<Reacted>> {
    const { settings } = this.#context;
    const { clock, dialect, leaseMs, prepare, reaction, source, table } = settings;
    const identity = dialect.transactions?.id;
    const handling = {
      source,
      errors: dialect.errors,
      placeholder: dialect.placeholder,
      begin: dialect.begin(table.isolation ?? table.mode),
      identify: identity && bind(identity, {}),
      mark: dialect.mark,
      prepare,
      clock,
      patienceMs: leaseMs,
    };
    const handled = await handleInTransaction(
      handling,
      delivery,
      {
        ...(this.#locksFirst && this.#lockFirst(delivery)),
        run: (transaction: HandlerFacade) => reaction.react(delivery.rows, delivery, transaction),
        completion: (reacted: Reacted) => this.#completion(delivery, reacted),
      },
      stop,
    );
    if (handled.result === "completed") this.#completed(delivery, handled);
    else if (handled.result !== "unknown") delivery.thaw();
    return handled;
  }

  #lockFirst(delivery: LeaseDelivery) {
    const { events, statements } = this.#context;
    return {
      first: async () => {
        await delivery.freeze();
        return [events.bound(statements.lockOrFail, events.fence(delivery.leased))];
      },
      opened: () => {
        for (const row of delivery.leased) row.state = "locked";
      },
    };
  }

  /** Nothing commits for a handler that threw, or that acknowledged nothing. */
  async #completion(
    delivery: LeaseDelivery,
    reacted: Reacted,
  ): Promise<readonly Action[] | undefined> {
    const settlements = settlementsOf(delivery.leased, reacted.verdicts);
    const acked = settlements.filter(({ verdict }) => verdict.kind === "ack");
    if (reacted.threw || acked.length === 0) return undefined;
    // A token that an extension changes now would fail the transaction, and cost the handler's work.
    await delivery.freeze();
    const { events, statements } = this.#context;
    const others = settlements.filter(({ verdict }) => verdict.kind !== "ack");
    // Rows that the transaction has locked from its start are ours, even when their lease has run out.
    const ack = this.#locksFirst ? statements.ack : statements.ackOrFail;
    const rows = events.fence(acked.map(({ row }) => row));
    return [
      ...(events.isCustom("ack")
        ? [
            events.bound(statements.lockOrFail, rows),
            ...events.grouped(acked).flatMap((group) => events.settle(group)),
          ]
        : [events.bound(ack, rows)]),
      ...events.grouped(others).flatMap((group) => events.settle(group)),
    ];
  }

  #completed(
    delivery: LeaseDelivery,
    { answer, results }: Extract<Handling<Reacted>, { result: "completed" }>,
  ): void {
    const { report, settings } = this.#context;
    const answered = new Set(results.slice(1).flatMap(({ rows }) => rows.map(({ id }) => id)));
    for (const { row, verdict } of settlementsOf(delivery.leased, answer.verdicts)) {
      row.state = "over";
      // The transaction failed unless all acknowledged rows were ours; the others it left alone.
      const isSettled = verdict.kind === "ack" || answered.has(row.id);
      if (isSettled) settings.observer.settled(row.row, verdict);
      else report.lost(delivery, [row.row], undefined);
    }
  }

  /**
   * What became of a commit that was not answered: by the transaction's own id, else by the rows. Says
   * itself what is not to be told, or is lost.
   */
  async isCommitted(
    delivery: LeaseDelivery,
    { answer, error, id }: Extract<Handling<Reacted>, { result: "unknown" }>,
  ): Promise<boolean> {
    const { ended, report, settings } = this.#context;
    let became = await didCommit({ ...settings, ended }, id);
    if (became === "unknown") {
      const settlements = settlementsOf(delivery.leased, answer.verdicts);
      const acked = settlements.filter(({ verdict }) => verdict.kind === "ack");
      const rows = acked.map(({ row }) => row);
      became = await readBack(this.#context, delivery, rows).catch(() => "unknown" as const);
    }
    if (became === "committed") {
      report.commitConfirmed(delivery, error);
      for (const { row, verdict } of settlementsOf(delivery.leased, answer.verdicts)) {
        row.state = "over";
        settings.observer.settled(row.row, verdict);
      }
      return true;
    }
    if (became === "unknown") {
      report.commitUnknown(delivery, delivery.rows, error);
      return true;
    }
    delivery.thaw();
    return false;
  }
}
