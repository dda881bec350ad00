/** One message while a claim has it, from the claim's sending to the answer that frees its aggregate. */
interface Hold {
  readonly from: number;
  to: number;
}

interface LedgerRow {
  /** Certainly to be seen from then on: its insert's commit was answered. */
  visibleAt: number;
  readonly holds: Hold[];
}

/**
 * What claimers of one process did, written down while they work and judged afterwards. Rows must have
 * an aggregate.
 */
export class ClaimLedger {
  readonly #rows = new Map<string, LedgerRow>();
  readonly #aggregates = new Map<string, LedgerRow[]>();
  readonly #inWork = new Map<string, number>();
  readonly #empty: Hold[] = [];
  claims = 0;
  roundTrips = 0;
  givenBack = 0;
  /** Handlers that started while another message of the aggregate was with its handler. */
  overlaps = 0;
  done = 0;

  visible(id: string, aggregate: string, at: number): void {
    this.#row(id, aggregate).visibleAt = at;
  }

  claimed(id: string, aggregate: string, from: number): void {
    this.#row(id, aggregate).holds.push({ from, to: Number.POSITIVE_INFINITY });
  }

  /** Its claim has ended, by its completion or its give-back. */
  freed(id: string, at: number): void {
    const hold = this.#rows.get(id)?.holds.at(-1);
    if (hold !== undefined) hold.to = at;
  }

  claimedNothing(from: number, to: number): void {
    this.#empty.push({ from, to });
  }

  started(aggregate: string): void {
    const others = this.#inWork.get(aggregate) ?? 0;
    if (others > 0) this.overlaps += 1;
    this.#inWork.set(aggregate, others + 1);
  }

  ended(aggregate: string): void {
    this.#inWork.set(aggregate, (this.#inWork.get(aggregate) ?? 1) - 1);
    this.done += 1;
  }

  get emptyClaims(): number {
    return this.#empty.length;
  }

  /**
   * Claims that came back empty though a row was free all the time they took: it could be seen, a
   * claim took it later, and no claim had anything of its aggregate meanwhile.
   */
  emptyThoughFree(): number {
    const aggregates = [...this.#aggregates.values()];
    return this.#empty.filter((claim) => aggregates.some((rows) => isFreeDuring(rows, claim)))
      .length;
  }

  #row(id: string, aggregate: string): LedgerRow {
    let row = this.#rows.get(id);
    if (row === undefined) {
      row = { visibleAt: Number.POSITIVE_INFINITY, holds: [] };
      this.#rows.set(id, row);
      const others = this.#aggregates.get(aggregate);
      if (others === undefined) this.#aggregates.set(aggregate, [row]);
      else others.push(row);
    }
    return row;
  }
}

function isFreeDuring(rows: readonly LedgerRow[], claim: Hold): boolean {
  const waits = rows.some(
    ({ holds, visibleAt }) =>
      visibleAt < claim.from && (holds.at(-1)?.from ?? Number.POSITIVE_INFINITY) > claim.to,
  );
  return (
    waits &&
    !rows.some(({ holds }) => holds.some(({ from, to }) => from <= claim.to && to >= claim.from))
  );
}
