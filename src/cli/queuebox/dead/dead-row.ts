import { sanitize } from "../../../redact.ts";
import { type Json, rawJson } from "../../json-text.ts";

/** A row of the dead letters' list. */
export interface DeadRow {
  readonly id: string;
  readonly source: string;
  readonly idempotency_key: string;
  readonly aggregate_id: string | null;
  readonly event_type: string | null;
  readonly attempt: number;
  readonly created_at: string;
  readonly claimed_at: string | null;
  readonly last_error: string | null;
}

/** A dead row, whole. */
export interface WholeDeadRow extends DeadRow {
  readonly correlation_id: string | null;
  readonly payload: string;
  readonly headers: string | null;
}

/** The row as JSON; the error is masked again, since workers in other languages write it too. */
export function deadJson(row: DeadRow): { readonly [key: string]: Json } {
  return {
    id: row.id,
    source: row.source,
    idempotencyKey: row.idempotency_key,
    aggregateId: row.aggregate_id,
    eventType: row.event_type,
    attempt: row.attempt,
    createdAt: row.created_at,
    claimedAt: row.claimed_at,
    lastError: row.last_error === null ? null : sanitize(row.last_error),
  };
}

export function wholeDeadJson(row: WholeDeadRow): { readonly [key: string]: Json } {
  return {
    ...deadJson(row),
    correlationId: row.correlation_id,
    payload: rawJson(row.payload),
    headers: row.headers === null ? null : rawJson(row.headers),
  };
}
