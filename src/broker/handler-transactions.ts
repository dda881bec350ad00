import type { Dialect } from "../dialect/dialect.ts";
import type { HandlerFacade } from "../form/handler-transaction.ts";

/**
 * What is to happen once a handler's transaction has committed. The transaction itself knows nothing of
 * it: the subscription that opened it tells here when the database has said so.
 */
export class HandlerCommit {
  readonly dialect: Dialect;
  /** What the sessions have in common that such transactions are on. */
  readonly origin: object;
  readonly #hooks = new Map<string, () => void>();

  constructor(dialect: Dialect, origin: object) {
    this.dialect = dialect;
    this.origin = origin;
  }

  /** Runs `hook` after the commit; of several under one key the first is kept. Answers whether it is new. */
  afterwards(key: string, hook: () => void): boolean {
    if (this.#hooks.has(key)) return false;
    this.#hooks.set(key, hook);
    return true;
  }

  /** The transaction has committed. */
  committed(): void {
    const hooks = [...this.#hooks.values()];
    this.#hooks.clear();
    for (const hook of hooks) hook();
  }
}

/** By the `tx` that a handler has in its hands. */
const commits = new WeakMap<object, HandlerCommit>();

/** From now on writes through this `tx` are known to be a handler's. */
export function watchCommit(tx: HandlerFacade, dialect: Dialect, origin: object): HandlerCommit {
  const commit = new HandlerCommit(dialect, origin);
  commits.set(tx, commit);
  return commit;
}

/** The commit that ends the transaction behind `conn`, where that is a subscription's `tx`. */
export function commitOf(conn: object): HandlerCommit | undefined {
  return commits.get(conn);
}
