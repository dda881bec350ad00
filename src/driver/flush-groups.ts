import type { Step } from "./connection.ts";

/**
 * Cuts steps into the runs that may share one flush with one Sync at its end. Nearly always that is
 * all of them; two things need a flush of their own before the rest is sent:
 *
 * - What stands before a BEGIN outside a transaction: without a Sync between, PostgreSQL makes one
 *   transaction of both.
 * - A COMMIT that comes first: if the transaction was aborted earlier, PostgreSQL answers ROLLBACK
 *   and no error, and would run what follows. (Later in a flush that cannot happen: what aborted the
 *   transaction has already made the server skip the COMMIT.)
 */
export function flushGroups(steps: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  let group: Step[] = [];
  for (const step of steps) {
    const previous = group.at(-1);
    const startsAnew =
      previous !== undefined &&
      ((step.kind === "begin" && previous.kind === "query") ||
        (previous.kind === "commit" && group.length === 1));
    if (startsAnew) {
      groups.push(group);
      group = [];
    }
    group.push(step);
  }
  if (group.length > 0) groups.push(group);
  return groups;
}
