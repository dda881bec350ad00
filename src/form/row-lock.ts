import { bind } from "../dialect/bind.ts";
import type { ClaimedRow, RowLockStatements } from "../dialect/dialect.ts";
import type { Connection } from "../driver/connection.ts";
import type { Claim, Performance, Work } from "../engine/work.ts";
import { asError } from "../errors.ts";
import { type Action, runActions } from "./actions.ts";
import { Ending } from "./ending.ts";
import { FormReport } from "./form-report.ts";
import type { FormSettings } from "./form-settings.ts";
import { GroupWalk } from "./group-walk.ts";
import { type Ended, lastWait, untilEnded } from "./handler-end.ts";
import { HandlerTransaction } from "./handler-transaction.ts";
import { keepsWrites, type Reacted } from "./reaction.ts";
import { whatRefused } from "./refusal.ts";
import { RowLockDelivery } from "./row-lock-delivery.ts";
import { RowLockSettlement } from "./row-lock-settlement.ts";
import { claimOnSession } from "./session-delivery.ts";
import { TableEvents } from "./table-events.ts";
import { runInTransaction } from "./transactional-handling.ts";

/**
 * The row lock form: the claim locks rows in a transaction that stays open for the handler, and the
 * settlement commits it. One connection a delivery.
 *
 *     BEGIN, claim --no rows--> rolled back, the connection goes back
 *         |
 *         \--rows--> held --handler--> settlement, COMMIT --> settled
 *                     |                       \--failed--> rolled back: claimable at once
 *                     |--stop: unstarted, or cut off and ended --> rolled back
 *                     \--the session dies, at any moment --> the database rolls back
 *
 * Nothing can be lost but the session, and nobody else can have the row before the rollback that its
 * end is. So there is no token, no renewal, and no attempt to give back: the attempt is counted by
 * what settles the row. Transactional handlers write in the same transaction; see
 * {@link RowLockSettlement} for how their writes stay or go.
 */
export class RowLockForm implements Work<RowLockDelivery> {
  readonly #settings: FormSettings;
  readonly #statements: RowLockStatements;
  readonly #events: TableEvents;
  readonly #report: FormReport;
  readonly #settlement: RowLockSettlement;
  readonly #walk: GroupWalk;
  readonly #ending: Ending;

  constructor(settings: FormSettings, statements: RowLockStatements) {
    this.#ending = new Ending(settings.source);
    this.#settings = settings;
    this.#statements = statements;
    this.#events = new TableEvents(settings, statements);
    this.#report = new FormReport(settings);
    this.#walk = new GroupWalk(this.#events, statements.walkedTo);
    this.#settlement = new RowLockSettlement({
      settings,
      statements,
      events: this.#events,
      report: this.#report,
      ended: this.#ending.signal,
    });
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {
    await this.#ending.end();
  }

  /** Claims for one handler call, however many there is room for: each takes a connection. */
  async claim(_limit: number, stop: AbortSignal): Promise<Claim<RowLockDelivery>> {
    const { batch, observer } = this.#settings;
    const delivery = await claimOnSession(this.#settings, stop, (connection) =>
      this.#claimOn(connection),
    );
    if (delivery === undefined) return { deliveries: [], rest: "empty" };
    observer.claimed(delivery.rows);
    return { deliveries: [delivery], rest: delivery.rows.length < batch ? "empty" : "more" };
  }

  async #claimOn(connection: Connection): Promise<RowLockDelivery | undefined> {
    const { batch, dialect, table, transactional } = this.#settings;
    const identity = dialect.transactions?.idIfAny;
    const { position } = this.#walk;
    const actions: Action[] = [
      dialect.begin(table.isolation ?? table.mode),
      this.#events.claim(batch, position.after),
      ...(identity === undefined ? [] : [bind(identity, {})]),
      ...(transactional
        ? [
            { kind: "query", text: dialect.savepoint("handler").set } as const,
            // Within the other, which stays when this one is released by its check.
            ...(dialect.mark === undefined
              ? []
              : [{ kind: "query", text: dialect.mark.set } as const]),
          ]
        : []),
    ];
    const results = await runActions<ClaimedRow>(connection, actions);
    const rows = this.#events.claimedRows(results[1]);
    if (rows.length === 0) {
      await connection.rollback();
      await this.#unlock(connection);
      await this.#walk.foundNothing(position, connection);
      return undefined;
    }
    this.#walk.claimed(position, rows);
    const id = identity === undefined ? undefined : results[2]?.rows[0]?.id;
    return new RowLockDelivery(rows, connection, id ?? undefined);
  }

  async giveBack(deliveries: readonly RowLockDelivery[]): Promise<void> {
    await Promise.all(
      deliveries.map(async (delivery) => {
        await delivery.rollBack(this.#settings);
        await this.#end(delivery);
        this.#report.unstarted(delivery);
      }),
    );
  }

  async perform(delivery: RowLockDelivery): Promise<Performance> {
    const patience = lastWait(this.#settings.clock, delivery.signal);
    try {
      return await this.#perform(delivery, patience.signal);
    } catch (error) {
      delivery.doubt ??= asError(error);
      throw error;
    } finally {
      patience.cancel();
      await this.#end(delivery);
    }
  }

  /** Gives back what the session holds beside its transaction, which is over, and then the session. */
  async #end(delivery: RowLockDelivery): Promise<void> {
    if (delivery.doubt === undefined) {
      try {
        await delivery.run(this.#settings, () => this.#unlock(delivery.connection));
      } catch (error) {
        delivery.doubt ??= asError(error);
      }
    }
    await delivery.end();
  }

  async #unlock(connection: Connection): Promise<void> {
    const { unlock } = this.#statements;
    if (unlock !== undefined) await runActions(connection, [bind(unlock, {})]);
  }

  async #perform(delivery: RowLockDelivery, patience: AbortSignal): Promise<Performance> {
    const { dialect, prepare, reaction, table, transactional } = this.#settings;
    const { connection, rows } = delivery;
    let transaction: HandlerTransaction | undefined;
    let ended: Ended<Reacted>;
    if (transactional) {
      const begin = dialect.begin(table.isolation ?? table.mode);
      const { placeholder } = dialect;
      const { errors } = dialect;
      const settings = { begin, placeholder, prepare, errors, isOpen: true };
      transaction = new HandlerTransaction(connection, settings);
      ended = await runInTransaction(transaction, delivery, patience, (facade) =>
        reaction.react(rows, delivery, facade),
      );
    } else {
      const reacting = reaction.react(rows, delivery, undefined);
      ended = await untilEnded(reacting, delivery.signal, patience);
    }
    const by = transaction?.rolledBackBy;
    if (by !== undefined && ended.ended !== "left behind") {
      // The row's lock is gone with the transaction.
      if (whatRefused(dialect.errors, by, undefined).kind !== "failed") {
        await delivery.rollBack(this.#settings);
        this.#report.redelivered(delivery, by);
        return "unavailable";
      }
      if (ended.ended === "returned") {
        return await this.#settlement.settleElsewhere(delivery, ended.answer, by);
      }
    }
    switch (ended.ended) {
      case "returned": {
        const unseen = keepsWrites(ended.answer) ? transaction?.unseenFailure : undefined;
        if (unseen === undefined) {
          return await this.#settlement.settle(delivery, ended.answer, transaction?.firstFailure);
        }
        const verdicts = await reaction.failed(rows, unseen);
        return await this.#settlement.settle(delivery, { verdicts, threw: true }, undefined);
      }
      case "threw": {
        const verdicts = await reaction.failed(rows, ended.error);
        return await this.#settlement.settle(delivery, { verdicts, threw: true }, undefined);
      }
      case "interrupted":
        await delivery.rollBack(this.#settings);
        this.#report.abandoned(delivery, true);
        return "settled";
      case "left behind":
        // Whatever the handler still does there, the connection and its transaction end now.
        delivery.doubt = asError(ended.reason);
        this.#report.leftBehind(delivery);
        this.#report.abandoned(delivery, true);
        return "settled";
    }
  }
}
