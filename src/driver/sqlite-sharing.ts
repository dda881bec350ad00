import type { FifoLock } from "./fifo-lock.ts";
import type { SqliteLockKeeper } from "./sqlite-locks.ts";

/** What several sources on one database share: they queue together, and hold keys together. */
export interface Shared {
  readonly lock: FifoLock;
  locks?: Promise<SqliteLockKeeper>;
}

/** By the driver's database. */
export const sharedBy: WeakMap<object, Shared> = new WeakMap();
