import type { TableDescription } from "../table/description.ts";

/** Who is woken by rows of a table that were written in this process. */
interface Sleeper {
  /** The group it reads; undefined: all of them. */
  readonly group: string | undefined;
  wake(): void;
}

const sleepers = new WeakMap<TableDescription, Set<Sleeper>>();

/** Wakes `wake` for rows of the table's group until the answer is called. */
export function sleepOn(
  table: TableDescription,
  group: string | undefined,
  wake: () => void,
): () => void {
  const sleeper: Sleeper = { group, wake };
  const all = sleepers.get(table) ?? new Set();
  sleepers.set(table, all);
  all.add(sleeper);
  return () => all.delete(sleeper);
}

/** Rows were written. Without a group: to whatever group there is. */
export function wakeSleepers(table: TableDescription, group: string | undefined): void {
  for (const sleeper of sleepers.get(table) ?? []) {
    if (group === undefined || sleeper.group === undefined || sleeper.group === group) {
      sleeper.wake();
    }
  }
}

/** Tables whose brokers listen for notifications: whoever writes to them here notifies other processes. */
const notified = new WeakSet<TableDescription>();

export function notifyAbout(table: TableDescription): void {
  notified.add(table);
}

export function isNotified(table: TableDescription): boolean {
  return notified.has(table);
}
