/** Rows for the inbox in bulk, made by the server. */
import { randomUUID } from "node:crypto";
import type { ExplainSession } from "./explain.ts";

export interface InboxRows {
  readonly count: number;
  /** Default "orders". */
  readonly source?: string;
  /** SQL of the aggregate over `n`, 1 to count; default none (null). */
  readonly aggregate?: string;
  /** Default pending. */
  readonly state?: "pending" | "processing" | "processed" | "dead";
  /** Seconds from now to the first row's time; default an hour ago. The rows are a millisecond apart. */
  readonly startSeconds?: number;
  /** Seconds from now to the lease's end; none by default. */
  readonly leaseSeconds?: number;
  /** Default inbox. */
  readonly table?: string;
}

/** Adds rows under V10's names. */
export async function addRows(session: ExplainSession, rows: InboxRows): Promise<void> {
  const { source = "orders", aggregate = "NULL", state = "pending", startSeconds = -3600 } = rows;
  const lease =
    rows.leaseSeconds === undefined
      ? "NULL"
      : `clock_timestamp() + ${rows.leaseSeconds} * interval '1 second'`;
  const held = state === "processing";
  await session.query(`INSERT INTO ${rows.table ?? "inbox"}
  (source, idempotency_key, aggregate_id, event_type, payload, state, created_at, scheduled_at,
   consumption, claim_token, claimed_at, lease_expires_at, processed_at)
SELECT '${source}', '${randomUUID()}-' || n, ${aggregate}, 'made', '{"total": 12.5, "lines": ["a", "b"]}', '${state}',
  moment, moment, 'pull',
  ${held ? "gen_random_uuid()" : "NULL"}, ${held ? "moment" : "NULL"}, ${lease},
  ${state === "processed" ? "moment" : "NULL"}
FROM generate_series(1, ${rows.count}) AS n,
  LATERAL (SELECT now() + ${startSeconds} * interval '1 second' + n * interval '1 millisecond' AS moment) AS m`);
}
