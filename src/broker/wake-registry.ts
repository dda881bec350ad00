import { type TableDescription, tableLabel } from "../table/description.ts";

/** Who is woken by rows of a table that were written in this process. */
interface Sleeper {
  /** The group it reads; undefined: all of them. */
  readonly group: string | undefined;
  wake(): void;
}

/**
 * By the table's name, since one table may be described more than once. Two databases that have a table of
 * one name wake each other's subscriptions, which costs a claim and nothing else.
 */
const sleepers = new Map<string, Set<Sleeper>>();

/** Wakes `wake` for rows of the table's group until the answer is called. */
export function sleepOn(
  table: TableDescription,
  group: string | undefined,
  wake: () => void,
): () => void {
  const label = tableLabel(table);
  const sleeper: Sleeper = { group, wake };
  const all = sleepers.get(label) ?? new Set();
  sleepers.set(label, all);
  all.add(sleeper);
  return () => {
    all.delete(sleeper);
    if (all.size === 0 && sleepers.get(label) === all) sleepers.delete(label);
  };
}

/** Rows were written. Without a group: to whatever group there is. */
export function wakeSleepers(table: TableDescription, group: string | undefined): void {
  for (const sleeper of sleepers.get(tableLabel(table)) ?? []) {
    if (group === undefined || sleeper.group === undefined || sleeper.group === group) {
      sleeper.wake();
    }
  }
}

/** Tables whose brokers listen for notifications: whoever writes to them here notifies other processes. */
const notified = new Set<string>();

export function notifyAbout(table: TableDescription): void {
  notified.add(tableLabel(table));
}

export function isNotified(table: TableDescription): boolean {
  return notified.has(tableLabel(table));
}
