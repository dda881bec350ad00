/**
 * The rows in hand: some running, at most as many as there are slots, and some waiting for a slot.
 * A slot that becomes free takes the first that waits, so one slow handler holds back nobody. With
 * `lanes`, rows of one key run one at a time, in the order they came.
 */
export class Slots<D extends { readonly key: string | null }> {
  readonly #slots: number;
  readonly #mostInHand: number;
  readonly #lanes: Set<string> | undefined;
  readonly #start: (delivery: D) => void;
  readonly #waiting: D[] = [];
  readonly #running = new Set<D>();

  constructor({ slots, inHand, lanes = false }: SlotSettings, start: (delivery: D) => void) {
    this.#slots = slots;
    this.#mostInHand = Math.max(slots, inHand);
    this.#lanes = lanes ? new Set() : undefined;
    this.#start = start;
  }

  get running(): ReadonlySet<D> {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * How many rows to claim now. Zero while a row waits for every slot (or half of the prefetch does):
   * that much covers the time of a claim, and the later a claim, the more rows share its round trip.
   */
  get wanted(): number {
    const prefetch = this.#mostInHand - this.#slots;
    const cover = Math.min(this.#slots, prefetch >> 1);
    const free = this.#mostInHand - this.#running.size - this.#waiting.length;
    // Rows that wait for their keys leave slots idle, which rows of other keys could take.
    const isIdle = this.#lanes !== undefined && this.#running.size < this.#slots;
    return this.#waiting.length > cover && !isIdle ? 0 : free;
  }

  add(deliveries: readonly D[]): void {
    this.#waiting.push(...deliveries);
    this.#fill();
  }

  /** A running delivery ended. */
  free(delivery: D): void {
    this.#running.delete(delivery);
    if (delivery.key !== null) this.#lanes?.delete(delivery.key);
    this.#fill();
  }

  /** Takes everything that waits out of hand. */
  drain(): D[] {
    return this.#waiting.splice(0);
  }

  #fill(): void {
    while (this.#running.size < this.#slots) {
      const next = this.#takeNext();
      if (next === undefined) return;
      this.#running.add(next);
      if (next.key !== null) this.#lanes?.add(next.key);
      this.#start(next);
    }
  }

  #takeNext(): D | undefined {
    const lanes = this.#lanes;
    if (lanes === undefined) return this.#waiting.shift();
    const index = this.#waiting.findIndex(({ key }) => key === null || !lanes.has(key));
    return index === -1 ? undefined : this.#waiting.splice(index, 1)[0];
  }
}

export interface SlotSettings {
  /** Deliveries that are worked side by side. */
  readonly slots: number;
  /** Rows that may be in hand at once, running and waiting; at least `slots`. */
  readonly inHand: number;
  /** Rows of one key are worked one at a time, in the order they were claimed. Default false. */
  readonly lanes?: boolean;
}
