/** Rows for the inbox in bulk, made by the server. */
import { randomUUID } from "node:crypto";

export interface InboxRows {
  readonly count: number;
  /** Default "orders". */
  readonly source?: string;
  /** SQL of the aggregate over `n`, 1 to count, as each database reads it; default none (null). */
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

/** What runs a statement. */
interface Session {
  query(text: string): Promise<unknown>;
}

/** Adds rows under V10's names. */
export async function addRows(
  session: Session,
  rows: InboxRows,
  database: "postgresql" | "sqlserver" = "postgresql",
): Promise<void> {
  await session.query(database === "sqlserver" ? sqlserverRows(rows) : postgresRows(rows));
}

const COLUMNS = `(source, idempotency_key, aggregate_id, event_type, payload, state, created_at, scheduled_at,
   consumption, claim_token, claimed_at, lease_expires_at, processed_at)`;
const PAYLOAD = '{"total": 12.5, "lines": ["a", "b"]}';

function postgresRows(rows: InboxRows): string {
  const { source = "orders", aggregate = "NULL", state = "pending", startSeconds = -3600 } = rows;
  const lease =
    rows.leaseSeconds === undefined
      ? "NULL"
      : `clock_timestamp() + ${rows.leaseSeconds} * interval '1 second'`;
  const held = state === "processing";
  return `INSERT INTO ${rows.table ?? "inbox"} ${COLUMNS}
SELECT '${source}', '${randomUUID()}-' || n, ${aggregate}, 'made', '${PAYLOAD}', '${state}',
  moment, moment, 'pull',
  ${held ? "gen_random_uuid()" : "NULL"}, ${held ? "moment" : "NULL"}, ${lease},
  ${state === "processed" ? "moment" : "NULL"}
FROM generate_series(1, ${rows.count}) AS n,
  LATERAL (SELECT now() + ${startSeconds} * interval '1 second' + n * interval '1 millisecond' AS moment) AS m`;
}

const DIGITS = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))";

/** No more than 10,000. */
export function sqlserverRows(rows: InboxRows): string {
  const { source = "orders", aggregate = "NULL", state = "pending", startSeconds = -3600 } = rows;
  const lease =
    rows.leaseSeconds === undefined
      ? "NULL"
      : `DATEADD(second, ${rows.leaseSeconds}, SYSUTCDATETIME())`;
  const held = state === "processing";
  return `INSERT INTO ${rows.table ?? "inbox"} ${COLUMNS}
SELECT N'${source}', CONCAT(N'${randomUUID()}-', m.n), ${aggregate}, N'made', N'${PAYLOAD}', N'${state}',
  m.moment, m.moment, 'pull',
  ${held ? "NEWID()" : "NULL"}, ${held ? "m.moment" : "NULL"}, ${lease},
  ${state === "processed" ? "m.moment" : "NULL"}
FROM (
  SELECT t.n, DATEADD(millisecond, t.n, DATEADD(second, ${startSeconds}, SYSUTCDATETIME())) AS moment
  FROM (
    SELECT 1000 * a.d + 100 * b.d + 10 * c.d + e.d + 1 AS n
    FROM ${DIGITS} AS a (d) CROSS JOIN ${DIGITS} AS b (d) CROSS JOIN ${DIGITS} AS c (d) CROSS JOIN ${DIGITS} AS e (d)
  ) AS t
) AS m
WHERE m.n <= ${rows.count};`;
}
