import { randomUUID } from "node:crypto";
import { bind } from "../dialect/bind.ts";
import type { ClaimedRow, UnclaimedRow } from "../dialect/inbox-dialect.ts";
import type { InboxStatement } from "../dialect/inbox-statement.ts";
import { checkOut, giveBack } from "../driver/checkout.ts";
import type { Connection } from "../driver/connection.ts";
import { runSteps } from "../driver/run-steps.ts";
import type { Claim } from "../engine/work.ts";
import { asError } from "../errors.ts";
import { orAbort, timeLimit } from "../time-limit.ts";
import { type InboxContext, runStatement } from "./inbox-context.ts";
import { InboxDelivery } from "./inbox-delivery.ts";
import { releaseLeases, releaseOn } from "./inbox-leases.ts";

/**
 * Claims messages, at most one of an aggregate across all workers.
 *
 *     claim, COMMIT --> look again --> alone: its handler may start
 *                                  \-> another live claim of the aggregate: given back
 *
 * A claim's snapshot cannot see a claim that commits beside it, so two workers may each take a
 * message of one aggregate when an earlier message becomes visible between their snapshots. Looking
 * again after the commit settles it: of two claims, the one that commits later always sees the
 * other. Nobody waits for anybody, and it also catches what a lock among claimers cannot: a lease
 * that was renewed just when it seemed to have ended.
 */
export class InboxClaims {
  readonly #context: InboxContext;
  readonly #claimPast: InboxStatement;
  /** Where the walk past a hot aggregate goes on; it rotates, so that no aggregate waits for ever. */
  #cursor = "";

  /** `hasAggregateIndex`: the table has the index that lets a claim skip through an aggregate's rows. */
  constructor(context: InboxContext, hasAggregateIndex: boolean) {
    this.#context = context;
    const { claimPastByAggregate, claimPastInOrder } = context.statements;
    this.#claimPast = hasAggregateIndex ? claimPastByAggregate : claimPastInOrder;
  }

  /** Claims up to `limit` messages. A `stop` ends the wait for a connection, not a claim on its way. */
  async claim(limit: number, stop: AbortSignal): Promise<InboxClaim> {
    const { options, source } = this.#context;
    const { clock, leaseMs } = options;
    const patience = timeLimit(clock, leaseMs, "there was no connection for a claim", stop);
    const connection = await checkOut(source, patience.signal).finally(() => patience.cancel());
    // An answer that takes longer than the lease is worth nothing: its leases have ended.
    const budget = timeLimit(clock, leaseMs, "the claim was not answered within the lease");
    try {
      const sentAt = options.clock.monotonic();
      try {
        const claim = await orAbort(this.#claimOn(connection, limit), budget.signal);
        await giveBack(connection);
        return { ...claim, sentAt };
      } catch (error) {
        await giveBack(connection, asError(error));
        throw error;
      }
    } finally {
      budget.cancel();
    }
  }

  async #claimOn(connection: Connection, limit: number): Promise<Claim<InboxDelivery>> {
    const { claim, claimWindow } = this.#context.statements;
    const token = randomUUID();
    const first = await this.#run(connection, claim, limit, token);
    const rows = [...first.rows];
    let isMore = false;
    if (rows.length < limit && first.held >= claimWindow) {
      isMore = await this.#walkPast(connection, rows, limit, token);
    }
    const deliveries = rows.map((row) => this.#delivery(row, token));
    const alone = await this.#lookAgain(connection, deliveries, token);
    if (alone.length < deliveries.length) {
      // Both sides of a collision may have stepped back: part by chance before the next try.
      return { deliveries: alone, rest: { afterMs: 5 + 45 * Math.random() } };
    }
    return { deliveries: alone, rest: isMore || rows.length === limit ? "more" : "empty" };
  }

  /**
   * Adds to `rows` what is behind a window that holds nothing but blocked aggregates. Answers whether
   * the walk stopped before it had seen everything.
   */
  async #walkPast(
    connection: Connection,
    rows: ClaimedRow[],
    limit: number,
    token: string,
  ): Promise<boolean> {
    const startedAt = this.#cursor;
    // A walk that began in the middle and came to the end goes round once, for what lies before.
    for (const from of startedAt === "" ? [""] : [startedAt, ""]) {
      const walk = await this.#run(connection, this.#claimPast, limit - rows.length, token, from);
      rows.push(...walk.rows);
      this.#cursor = walk.hasEnded ? "" : walk.cursor;
      if (!walk.hasEnded) return true;
      if (rows.length >= limit) break;
    }
    return false;
  }

  async #run(
    connection: Connection,
    statement: InboxStatement,
    batch: number,
    token: string,
    cursor = "",
  ): Promise<ClaimAnswer> {
    const { dialect, options } = this.#context;
    const { source, leaseMs } = options;
    const step = bind(statement, { source, batch, leaseMs, token, cursor });
    const steps = [dialect.begin, step, { kind: "commit" }] as const;
    const results = await runSteps<ClaimedRow | UnclaimedRow>(connection, steps);
    const rows = results[1]?.rows ?? [];
    return {
      rows: rows.filter((row) => row.id !== null),
      held: rows[0]?.held ?? 0,
      cursor: rows[0]?.cursor ?? "",
      hasEnded: rows[0]?.ended ?? true,
    };
  }

  /**
   * Gives back what shares its aggregate with another live claim, and answers what does not. Where it
   * cannot look, everything goes back: an aggregate in doubt is not worked.
   */
  async #lookAgain(
    connection: Connection,
    deliveries: readonly InboxDelivery[],
    token: string,
  ): Promise<readonly InboxDelivery[]> {
    const { dialect, fields, log, statements } = this.#context;
    const keyed = deliveries.filter(({ key }) => key !== null);
    if (keyed.length === 0) return deliveries;
    try {
      const ids = dialect.list(keyed.map(({ id }) => id));
      const values = { ids, token };
      const found = await runStatement<{ id: string }>(connection, statements.lookAgain, values);
      if (found.rows.length === 0) return deliveries;
      const shared = new Set(found.rows.map(({ id }) => id));
      await releaseOn(
        connection,
        this.#context,
        keyed.filter(({ id }) => shared.has(id)),
      );
      log.info("another worker has a message of the same aggregate; this one was given back", {
        event: "claim_collided",
        ...fields,
        ids: [...shared],
      });
      return deliveries.filter(({ id }) => !shared.has(id));
    } catch (error) {
      await releaseLeases(this.#context, deliveries);
      throw error;
    }
  }

  #delivery(row: ClaimedRow, token: string): InboxDelivery {
    const { fields, log, options } = this.#context;
    if (row.expired) {
      log.warn("this message's lease had expired: the worker that had it died or stalled", {
        event: "expired_lease_claimed",
        ...fields,
        id: row.id,
        attempt: row.attempt,
      });
    }
    const message = {
      id: row.id,
      source: row.source,
      idempotencyKey: row.idempotency_key,
      aggregateId: row.aggregate_id,
      eventType: row.event_type,
      correlationId: row.correlation_id,
      payload: row.payload,
      headers: row.headers,
      attempt: row.attempt,
      wasExpired: row.expired,
    };
    return new InboxDelivery(message, token, row.expired && options.chargeExpired ? 1 : 0);
  }
}

/** A claim, and the monotonic time it was sent at: its leases end no earlier than a lease after it. */
export interface InboxClaim extends Claim<InboxDelivery> {
  readonly sentAt: number;
}

interface ClaimAnswer {
  readonly rows: readonly ClaimedRow[];
  readonly held: number;
  readonly cursor: string;
  readonly hasEnded: boolean;
}
