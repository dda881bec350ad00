import { ask } from "../database/ask.ts";
import type { Standing } from "./progress.ts";
import type { Shop } from "./shop.ts";

/** How the demo's inbox stands; pending messages and those in work are waiting. */
export interface Counts extends Standing {
  /** Of those waiting, the ones that are due so much later that the demo does not wait for them. */
  readonly later: number;
  /** Took more than one delivery, whatever became of them. */
  readonly retried: number;
}

/** A message that is due later than this, in seconds, is left: the demo ends without it. */
export const PATIENCE_S = 5;

export async function readCounts(shop: Shop): Promise<Counts> {
  const count = (condition: string): string => `count(*) FILTER (WHERE ${condition})::int`;
  const later = `state = 'pending' AND scheduled_at > clock_timestamp() + interval '${PATIENCE_S} seconds'`;
  const text = `SELECT ${count("state = 'processed'")} AS processed, ${count("state = 'dead'")} AS dead,
  ${count("state IN ('pending', 'processing')")} AS waiting, ${count(later)} AS later,
  ${count("attempt > 0")} AS retried
FROM ${shop.inbox.table}`;
  const { rows } = await ask<Counts>(shop.database.source, { text, params: [] });
  const counts = rows[0];
  if (counts === undefined) throw new Error("the count of the messages came back empty");
  return counts;
}
