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
import { releaseLeases } from "./inbox-leases.ts";

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
 * that was renewed just when it seemed to have ended. On SQL Server claims do take turns, and the look
 * is for that lease, and for claims by others that do not take part in the lock.
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
    const claimed: InboxDelivery[] = [];
    try {
      return await this.#claimAndLook(connection, limit, claimed);
    } catch (error) {
      // What a step before it claimed is worked by nobody: an aggregate in doubt is not, either.
      await releaseLeases(this.#context, claimed);
      throw error;
    }
  }

  /** Puts what it claims into `claimed` as soon as it is committed. */
  async #claimAndLook(
    connection: Connection,
    limit: number,
    claimed: InboxDelivery[],
  ): Promise<Claim<InboxDelivery>> {
    const { claim, claimWindow } = this.#context.statements;
    const token = randomUUID();
    const first = await this.#run(connection, claim, limit, token);
    claimed.push(...first.deliveries);
    let isMore = false;
    if (claimed.length < limit && first.held >= claimWindow) {
      isMore = await this.#walkPast(connection, claimed, limit, token);
    }
    const alone = await this.#lookAgain(connection, claimed, token);
    if (alone.length < claimed.length) {
      // Both sides of a collision may have stepped back: part by chance before the next try.
      return { deliveries: alone, rest: { afterMs: 5 + 45 * Math.random() } };
    }
    return { deliveries: alone, rest: isMore || claimed.length === limit ? "more" : "empty" };
  }

  /**
   * Adds to `claimed` what is behind a window that holds nothing but blocked aggregates. Answers
   * whether the next claim should walk on at once. Aggregates without a due message are walked over
   * too, so a walk that finds nothing goes on, but not for ever: the next poll continues at the cursor.
   */
  async #walkPast(
    connection: Connection,
    claimed: InboxDelivery[],
    limit: number,
    token: string,
  ): Promise<boolean> {
    // A walk that began in the middle and came to the end goes round once, for what lies before.
    let isRound = this.#cursor === "";
    for (let walks = 0; walks < MOST_WALKS; walks += 1) {
      const batch = limit - claimed.length;
      const walk = await this.#run(connection, this.#claimPast, batch, token, this.#cursor);
      claimed.push(...walk.deliveries);
      this.#cursor = walk.hasEnded ? "" : walk.cursor;
      if (claimed.length >= limit) return true;
      if (walk.hasEnded && isRound) return false;
      if (walk.hasEnded) isRound = true;
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
      deliveries: rows.flatMap((row) => (row.id === null ? [] : [this.#delivery(row, token)])),
      held: rows[0]?.held ?? 0,
      cursor: rows[0]?.cursor ?? "",
      hasEnded: rows[0]?.ended ?? true,
    };
  }

  /**
   * Gives back what shares its aggregate with another live claim, and answers what does not.
   */
  async #lookAgain(
    connection: Connection,
    deliveries: readonly InboxDelivery[],
    token: string,
  ): Promise<readonly InboxDelivery[]> {
    const { dialect, fields, log, statements } = this.#context;
    const keyed = deliveries.filter(({ key }) => key !== null);
    if (keyed.length === 0) return deliveries;
    const ids = dialect.list(keyed.map(({ id }) => id));
    const values = { ids, token };
    const found = await runStatement<{ id: string }>(connection, statements.lookAgain, values);
    if (found.rows.length === 0) return deliveries;
    const shared = new Set(found.rows.map(({ id }) => id));
    const backward = keyed.filter(({ id }) => shared.has(id));
    await releaseLeases(this.#context, backward, connection);
    log.info("another worker has a message of the same aggregate; this one goes back", {
      event: "claim_collided",
      ...fields,
      ids: [...shared],
    });
    return deliveries.filter(({ id }) => !shared.has(id));
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
    const charged = row.expired && options.chargeExpired ? 1 : 0;
    return new InboxDelivery(message, { token, claimedAt: row.claimed_at, charged });
  }
}

/** A claim, and the monotonic time it was sent at: its leases end no earlier than a lease after it. */
export interface InboxClaim extends Claim<InboxDelivery> {
  readonly sentAt: number;
}

/** How many walks one claim makes past blocked aggregates and those that have nothing due. */
const MOST_WALKS = 10;

interface ClaimAnswer {
  readonly deliveries: readonly InboxDelivery[];
  readonly held: number;
  readonly cursor: string;
  readonly hasEnded: boolean;
}
