import type { ClaimedRow } from "../dialect/dialect.ts";
import { SettlementError } from "../errors.ts";
import type { LogLevel } from "../log.ts";
import type { LogEvent } from "../log-events.ts";
import { tableLabel } from "../table/description.ts";
import type { FormSettings } from "./form-settings.ts";
import type { FormObserver } from "./reaction.ts";
import type { TableDelivery } from "./table-delivery.ts";

/** Says in the log and to the observer how deliveries ended that were not simply settled. */
export class FormReport {
  readonly #settings: FormSettings;

  constructor(settings: FormSettings) {
    this.#settings = settings;
  }

  unstarted(delivery: TableDelivery): void {
    this.#returned(delivery.rows, "unstarted");
  }

  noConnection(delivery: TableDelivery, error: unknown): void {
    const text = "there is no connection for the handler; given back";
    this.#say("warn", delivery, "no_connection", text, error);
    this.#returned(delivery.rows, "unstarted", error);
  }

  redelivered(delivery: TableDelivery, error: unknown): void {
    const text = "the database asks to try again; no attempt is spent";
    this.#say("warn", delivery, "redelivered", text, error);
    this.#returned(delivery.rows, "failed", error);
  }

  /** The transaction that had locked the rows is over, and somebody else has them, or had them since. */
  notRetaken(delivery: TableDelivery, rows: readonly ClaimedRow[], error: unknown): void {
    if (rows.length === 0) return;
    const text =
      "the handler's transaction was ended by an error, and its row was not to be had again as it was: it is left as it is; no attempt is spent";
    this.#say("warn", delivery, "redelivered", text, error);
    this.#returned(rows, "failed", error);
  }

  leftBehind(delivery: TableDelivery): void {
    if (!delivery.leaveBehind()) return;
    const text = "the handler did not end when its signal aborted; it is left behind";
    this.#say("error", delivery, "handler_left_behind", text);
  }

  abandoned(delivery: TableDelivery, isReleased: boolean): void {
    const text = isReleased
      ? "cut off by the shutdown; released"
      : "cut off by the shutdown; left to its lease";
    this.#say("warn", delivery, "abandoned", text);
    this.#returned(delivery.rows, "abandoned");
  }

  lost(delivery: TableDelivery, rows: readonly ClaimedRow[], error: unknown): void {
    if (rows.length === 0) return;
    const text = "the message is not this worker's any more; nothing of it was settled";
    this.#say("warn", delivery, "lease_lost", text, error);
    this.#returned(rows, "lost", error);
  }

  /** Where a session holds the rows, nothing can be lost but the session. */
  sessionLost(delivery: TableDelivery, error: unknown): void {
    const text = "the session that held the row is gone, and the row with it; nothing was settled";
    this.#say("warn", delivery, "lease_lost", text, error);
    this.#returned(delivery.rows, "lost", error);
  }

  commitConfirmed(delivery: TableDelivery, error: unknown): void {
    const text = "the commit was not answered; the database says that it took effect";
    this.#say("info", delivery, "commit_confirmed", text, error);
  }

  commitUnknown(delivery: TableDelivery, rows: readonly ClaimedRow[], error: unknown): void {
    const text =
      "the commit was not answered, and the database cannot tell any more what became of it; the row stands as it is";
    this.#say("error", delivery, "commit_unknown", text, error);
    this.#returned(rows, "lost", error);
  }

  settlementFailed(
    delivery: TableDelivery,
    event: string,
    rows: readonly ClaimedRow[],
    cause: unknown,
  ): void {
    const { table } = this.#settings;
    const error = new SettlementError(
      `"${event}" failed on table ${tableLabel(table)}: nothing of it was written, and the row comes again`,
      { cause },
    );
    this.#say("error", delivery, "settlement_failed", error.message, error);
    this.#returned(rows, "failed", error);
  }

  #returned(rows: readonly ClaimedRow[], ...why: ReturnedWhy): void {
    for (const row of rows) this.#settings.observer.returned(row, ...why);
  }

  #say(level: LogLevel, delivery: TableDelivery, event: LogEvent, text: string, error?: unknown) {
    const { fields, log } = this.#settings;
    log[level](text, { event, ...fields, id: delivery.id, error });
  }
}

type ReturnedWhy =
  Parameters<FormObserver["returned"]> extends [unknown, ...infer Why] ? Why : never;
