import type pg from "pg";

/**
 * Times a drain alike for everybody: from the start of the first handler until the database has no row
 * left. What a contender does to start and to stop is not in it.
 */
export class DrainMeter {
  readonly #pool: pg.Pool;
  readonly #left: string;
  readonly #rows: number;
  #startedAt: number | undefined;
  #handled = 0;
  #allHandled: () => void = () => {};
  readonly #handledAll: Promise<void>;

  /** `left`: a query that answers whether a row is `left`. */
  constructor(pool: pg.Pool, left: string, rows: number) {
    this.#pool = pool;
    this.#left = left;
    this.#rows = rows;
    this.#handledAll = new Promise((resolve) => {
      this.#allHandled = resolve;
    });
  }

  get isOver(): boolean {
    return this.#handled >= this.#rows;
  }

  /** What every handler does. */
  handle(rows = 1): void {
    this.#startedAt ??= performance.now();
    this.#handled += rows;
    if (this.isOver) this.#allHandled();
  }

  /** Resolves with how long it took, in milliseconds. */
  async drained(): Promise<number> {
    await this.#handledAll;
    for (;;) {
      const { rows } = await this.#pool.query(this.#left);
      if (rows[0]?.left === false) return performance.now() - (this.#startedAt ?? 0);
    }
  }
}
