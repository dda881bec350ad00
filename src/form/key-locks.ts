import type { AdvisoryLockStatements } from "../dialect/dialect.ts";
import type { Connection } from "../driver/connection.ts";
import { shown } from "../options.ts";
import { customEvent, eventError, yesOrNo } from "./custom-events.ts";
import type { FormSettings } from "./form-settings.ts";

/** What locks keys where no statement does: events of the service's own, or the connection. */
export interface KeyLocks {
  /** Keys that need no try. */
  held(): Promise<readonly string[]>;
  tryLock(key: string): Promise<boolean>;
  /** @throws also where the key was not held. */
  unlock(key: string): Promise<void>;
}

/** Whether locks are no statements of the dialect's. */
export function locksByCall(
  { table }: Pick<FormSettings, "table">,
  { unlock }: Pick<AdvisoryLockStatements, "unlock">,
): boolean {
  return table.custom?.unlock !== undefined || unlock === undefined;
}

/** @throws CustomEventError by its methods, of an event that fails; TypeError where nothing locks. */
export function keyLocks(settings: FormSettings, connection: Connection): KeyLocks {
  const lock = customEvent(settings, "lock");
  const unlock = customEvent(settings, "unlock");
  const { locks } = connection;
  if (lock !== undefined && unlock !== undefined) {
    return {
      held: async () => [],
      tryLock: (key) => yesOrNo(settings, "lock", lock, connection, [key]),
      async unlock(key) {
        if (await yesOrNo(settings, "unlock", unlock, connection, [key])) return;
        throw eventError(settings, "unlock", `it says of ${shown(key)} that the lock was not held`);
      },
    };
  }
  if (locks === undefined) throw new TypeError(`${settings.dialect.name}: ${NO_LOCKS}`);
  return {
    held: () => locks.held(),
    tryLock: (key) => locks.tryLock(key),
    async unlock(key) {
      if (await locks.unlock(key)) return;
      throw new Error(`the connection did not hold the lock ${shown(key)} that it was to release`);
    },
  };
}

/** Of a connection. */
export const NO_LOCKS =
  "its sessions have no locks on keys, and neither has the connection: take an adapter of intray, or write the events lock and unlock";

/** Releases all keys, each whatever became of the others; answers what failed. */
export async function unlockAll(
  locks: KeyLocks,
  keys: readonly string[],
): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  for (const key of keys) {
    await locks.unlock(key).catch((error: unknown) => {
      failures.push(error);
    });
  }
  return failures;
}
