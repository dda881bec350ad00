/** Lets one holder in at a time, or as many as there are places, in the order they came. */
export class FifoLock {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(places = 1) {
    this.#free = places;
  }

  /** Whether nobody has to be waited for. */
  get isFree(): boolean {
    return this.#free > 0;
  }

  /**
   * Waits for its turn and answers the function that ends it; calling that again does nothing.
   *
   * @throws the signal's reason if it aborts while waiting; the place in the queue is given up.
   */
  acquire(signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const enter = () => {
        signal?.removeEventListener("abort", giveUp);
        let isOver = false;
        resolve(() => {
          if (isOver) return;
          isOver = true;
          this.#next();
        });
      };
      const giveUp = () => {
        this.#waiting.delete(enter);
        reject(signal?.reason);
      };
      if (this.#free === 0) {
        this.#waiting.add(enter);
        signal?.addEventListener("abort", giveUp, { once: true });
      } else {
        this.#free -= 1;
        enter();
      }
    });
  }

  #next(): void {
    for (const enter of this.#waiting) {
      this.#waiting.delete(enter);
      enter();
      return;
    }
    this.#free += 1;
  }
}
