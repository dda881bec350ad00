import { TableError } from "../errors.ts";
import { tableLabel } from "../table/description.ts";
import type { QueueDescription } from "../table/queue.ts";

/** @throws TableError where two subscriptions of one broker read the same rows. */
export function refuseTwins(subscriptions: readonly { readonly queue: QueueDescription }[]): void {
  for (const [index, { queue }] of subscriptions.entries()) {
    const twin = subscriptions.slice(0, index).find((other) => isSameQueue(other.queue, queue));
    if (twin === undefined) continue;
    throw new TableError(
      `${queue.name} of ${tableLabel(queue.table)} has two subscriptions on one broker: raise workers of one, or take another broker`,
    );
  }
}

function isSameQueue(one: QueueDescription, other: QueueDescription): boolean {
  const { table } = one;
  const isSameTable = table.name === other.table.name && table.schema === other.table.schema;
  return (
    isSameTable && (one.groups !== "one" || other.groups !== "one" || one.group === other.group)
  );
}
