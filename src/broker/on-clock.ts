import type { Clock } from "../clock.ts";
import type { QueueDescription } from "../table/queue.ts";

/** The queue, its table on the clock's time of day where that has one and the table is on the database's. */
export function onClock(queue: QueueDescription, clock: Clock): QueueDescription {
  const now = clock.now?.bind(clock);
  if (now === undefined || queue.table.clock !== "database") return queue;
  return { ...queue, table: { ...queue.table, clock: now } };
}
