/**
 * The rows in hand: some running, at most as many as there are slots, and some waiting for a slot.
 * A slot that becomes free takes the first that waits, so one slow handler holds back nobody.
 */
export class Slots<D> {
  readonly #slots: number;
  readonly #mostInHand: number;
  readonly #start: (delivery: D) => void;
  readonly #waiting: D[] = [];
  readonly #running = new Set<D>();

  constructor(slots: number, mostInHand: number, start: (delivery: D) => void) {
    this.#slots = slots;
    this.#mostInHand = Math.max(slots, mostInHand);
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
    if (this.#waiting.length > cover) return 0;
    return this.#mostInHand - this.#running.size - this.#waiting.length;
  }

  add(deliveries: readonly D[]): void {
    this.#waiting.push(...deliveries);
    this.#fill();
  }

  /** A running delivery ended. */
  free(delivery: D): void {
    this.#running.delete(delivery);
    this.#fill();
  }

  /** Takes everything that waits out of hand. */
  drain(): D[] {
    return this.#waiting.splice(0);
  }

  #fill(): void {
    while (this.#running.size < this.#slots) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#running.add(next);
      this.#start(next);
    }
  }
}
