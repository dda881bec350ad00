import { pause } from "../clock.ts";
import { withConnection } from "../driver/checkout.ts";
import { Backoff } from "../engine/backoff.ts";
import { timeLimit } from "../time-limit.ts";
import { type Action, runAlone } from "./actions.ts";
import type { LeaseContext } from "./lease-context.ts";
import type { LeaseDelivery, LeasedRow } from "./lease-delivery.ts";
import { readBack } from "./lease-read-back.ts";
import type { Verdict } from "./reaction.ts";
import { isUnanswered } from "./refusal.ts";
import type { Settlement, SettlementEvent, SettlementGroup } from "./table-events.ts";

/**
 * Settles leased rows outside of handlers' transactions. What becomes ready while a statement is under
 * way goes out together with the next one of its kind:
 *
 *     settle --> waiting --statement of its kind--> answered ------------> settled
 *                   ^                          |--> not answered: ours no more
 *                   |                          \--> failed
 *                   |-- in company: at once, alone --/ |
 *                   \-- alone, or the connection's doing: after a while
 *
 * No delay is ever added: a settlement that finds no statement of its kind under way is sent at once.
 */
export class LeaseSettler {
  readonly #context: LeaseContext;
  readonly #lanes = new Map<SettlementEvent, Lane>();

  constructor(context: LeaseContext) {
    this.#context = context;
  }

  /**
   * Makes the verdict true. Tries for as long as a lease lasts.
   *
   * - `settled`: the database said so.
   * - `lost`: the row was not ours any more; nothing was changed.
   * - `unknown`: an answer got lost, and what it was cannot be told any more.
   *
   * @throws what the statement threw last.
   */
  async settle(delivery: LeaseDelivery, row: LeasedRow, verdict: Verdict): Promise<Settled> {
    const { clock, dialect, leaseMs } = this.#context.settings;
    const { errors } = dialect;
    const until = clock.monotonic() + leaseMs;
    const backoff = new Backoff(20, 1000);
    const event = this.#context.events.eventOf(verdict);
    let text: TextChoice = 0;
    let isAlone = false;
    let isInDoubt = false;
    for (;;) {
      row.state = "settling";
      const sentToken = row.token;
      const answer =
        isAlone || this.#context.events.isCustom(event)
          ? await this.#send([{ row, verdict }], text)
          : await this.#sendTogether({ row, verdict });
      if ("settled" in answer) {
        if (answer.settled.has(row.id)) return over(row, "settled");
        // It may have met its own extension: then the other token is the one that holds.
        if (row.token === sentToken) await delivery.extension;
        if (row.token !== sentToken) continue;
        return over(row, isInDoubt ? await this.#whatWas(delivery, row) : "lost");
      }
      const { error } = answer;
      if (answer.inCompany && !isUnanswered(errors, error)) {
        // Another's doing, perhaps: by itself it shows.
        isAlone = true;
        continue;
      }
      row.state = "held";
      if (errors.isUnstorableText(error) && text < 2) {
        text = text === 0 ? 1 : 2;
        isAlone = true;
        continue;
      }
      isInDoubt ||= isUnanswered(errors, error);
      const isOver = delivery.lost !== undefined || this.#context.ended.aborted;
      if (isOver || clock.monotonic() >= until) throw error;
      await pause(clock, backoff.next(), this.#context.ended);
    }
  }

  async #whatWas(delivery: LeaseDelivery, row: LeasedRow): Promise<Settled> {
    const became = await readBack(this.#context, delivery, [row]);
    if (became === "committed") return "settled";
    return became === "unknown" ? "unknown" : "lost";
  }

  #sendTogether(settlement: Settlement<LeasedRow>): Promise<Answer> {
    const event = this.#context.events.eventOf(settlement.verdict);
    let lane = this.#lanes.get(event);
    if (lane === undefined) {
      lane = { waiting: [], isSending: false };
      this.#lanes.set(event, lane);
    }
    const { waiting } = lane;
    const answered = new Promise<Answer>((answer) => waiting.push({ settlement, answer }));
    if (!lane.isSending) void this.#sendAll(lane);
    return answered;
  }

  /** Sends what waits until nothing does. Never rejects. */
  async #sendAll(lane: Lane): Promise<void> {
    lane.isSending = true;
    // What is settled in this very moment, such as a batch, shares the first statement.
    await Promise.resolve();
    while (lane.waiting.length > 0) {
      const sent = lane.waiting.splice(0, MOST_TOGETHER);
      const answer = await this.#send(sent.map(({ settlement }) => settlement));
      for (const each of sent) each.answer(answer);
    }
    lane.isSending = false;
  }

  /** An event of the service's own runs where the lease was confirmed, and with it stands or falls. */
  #confirmed(
    { event, settlements }: SettlementGroup<LeasedRow>,
    settling: readonly Action[],
  ): readonly Action[] {
    const { events, settings, statements } = this.#context;
    const { dialect } = settings;
    if (!events.isCustom(event)) return settling;
    const rows = settlements.map(({ row }) => row);
    const confirming = events.bound(statements.lockOrFail, events.fence(rows));
    return [dialect.beginShort, confirming, ...settling, { kind: "commit" }];
  }

  async #send(
    settlements: readonly Settlement<LeasedRow>[],
    text: TextChoice = 0,
  ): Promise<Answer> {
    const { events, settings } = this.#context;
    const { clock, leaseMs, source } = settings;
    const limit = timeLimit(clock, leaseMs, "the settlement was not answered in time");
    try {
      const actions = events
        .grouped(settlements)
        .flatMap((group) => this.#confirmed(group, events.settle(group, text)));
      const results = await withConnection(source, limit.signal, (connection) =>
        runAlone<{ id?: string }>(connection, settings.dialect, actions),
      );
      return { settled: new Set(results.flatMap(({ rows }) => rows.map(({ id }) => id))) };
    } catch (error) {
      if (settings.dialect.errors.isClaimLost(error)) return { settled: new Set() };
      return { error, inCompany: settlements.length > 1 };
    } finally {
      limit.cancel();
    }
  }
}

export type Settled = "settled" | "lost" | "unknown";

type TextChoice = 0 | 1 | 2;

interface Lane {
  readonly waiting: { readonly settlement: Settlement<LeasedRow>; answer(answer: Answer): void }[];
  isSending: boolean;
}

type Answer =
  | { readonly settled: ReadonlySet<string | undefined> }
  | { readonly error: unknown; readonly inCompany: boolean };

/** A bound on a statement's size; far above what one subscription has in hand. */
const MOST_TOGETHER = 1000;

function over(row: LeasedRow, settled: Settled): Settled {
  row.state = "over";
  return settled;
}
