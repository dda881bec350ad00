/**
 * The names of a QueueBox inbox table: which table it is and what its columns are called. Every name
 * is checked here, once, before any statement is built from it, so that no name can carry SQL.
 */

import { shown } from "../options.ts";

/** The table and column names that the statements use. {@link defaultSchema} has those of V10. */
export interface InboxSchema {
  /** The table, as `table` or `schema.table`. */
  readonly table: string;
  readonly id: string;
  readonly consumption: string;
  readonly source: string;
  readonly state: string;
  readonly scheduledAt: string;
  readonly createdAt: string;
  readonly claimToken: string;
  readonly claimedAt: string;
  readonly leaseExpiresAt: string;
  readonly processedAt: string;
  readonly attempt: string;
  readonly lastError: string;
  readonly idempotencyKey: string;
  readonly aggregateId: string;
  readonly eventType: string;
  readonly payload: string;
  readonly headers: string;
  readonly correlationId: string;
}

/** What a column is for: every key of {@link InboxSchema} but `table`. */
export type InboxColumn = Exclude<keyof InboxSchema, "table">;

/**
 * The names that a QueueBox server creates (V10).
 *
 * @example
 * ```ts
 * const schema = { ...defaultSchema, table: "messaging.inbox", payload: "body" };
 * ```
 */
export const defaultSchema: InboxSchema = Object.freeze({
  table: "inbox",
  id: "id",
  consumption: "consumption",
  source: "source",
  state: "state",
  scheduledAt: "scheduled_at",
  createdAt: "created_at",
  claimToken: "claim_token",
  claimedAt: "claimed_at",
  leaseExpiresAt: "lease_expires_at",
  processedAt: "processed_at",
  attempt: "attempt",
  lastError: "last_error",
  idempotencyKey: "idempotency_key",
  aggregateId: "aggregate_id",
  eventType: "event_type",
  payload: "payload",
  headers: "headers",
  correlationId: "correlation_id",
});

/** Every column, in the order that errors and catalogue answers name them. */
export const inboxColumnKeys: readonly InboxColumn[] = Object.freeze([
  "id",
  "consumption",
  "source",
  "state",
  "scheduledAt",
  "createdAt",
  "claimToken",
  "claimedAt",
  "leaseExpiresAt",
  "processedAt",
  "attempt",
  "lastError",
  "idempotencyKey",
  "aggregateId",
  "eventType",
  "payload",
  "headers",
  "correlationId",
]);

// 63 characters is where PostgreSQL cuts a name; all of these are one byte each.
const name = "[A-Za-z_][A-Za-z0-9_$]{0,62}";
const columnName = new RegExp(`^${name}$`);
const tableName = new RegExp(`^${name}(?:\\.${name})?$`);
const nameRule = "a letter or underscore, then up to 62 of letters, digits, _ and $";

/**
 * Checks that every name is there, safe and used once, and answers a frozen copy: what the caller
 * changes afterwards cannot reach a statement.
 *
 * @throws TypeError for what is no object, and for a name that is missing or no string.
 * @throws RangeError for an unsafe name, and for two columns of one name.
 */
export function checkInboxSchema(schema: unknown): InboxSchema {
  if (typeof schema !== "object" || schema === null) {
    throw new TypeError(`schema: ${shown(schema)} is not an object of table and column names`);
  }
  const given = new Map<string, unknown>(Object.entries(schema));
  const checked: Record<keyof InboxSchema, string> = { ...defaultSchema };
  checked.table = checkedName(given, "table", tableName);
  const owners = new Map<string, InboxColumn>();
  for (const column of inboxColumnKeys) {
    const value = checkedName(given, column, columnName);
    const owner = owners.get(value);
    if (owner !== undefined) {
      throw new RangeError(
        `schema.${column}: ${shown(value)} is schema.${owner} already; each column needs a name of its own`,
      );
    }
    owners.set(value, column);
    checked[column] = value;
  }
  for (const key of given.keys()) {
    if (!(key in defaultSchema)) {
      throw new TypeError(
        `schema.${key}: there is no such name; a schema has table, ${inboxColumnKeys.join(", ")}`,
      );
    }
  }
  return Object.freeze(checked);
}

function checkedName(
  given: ReadonlyMap<string, unknown>,
  key: keyof InboxSchema,
  rule: RegExp,
): string {
  const value = given.get(key);
  if (typeof value !== "string") {
    const what = value === undefined ? "is missing" : `is ${shown(value)}, not a string`;
    throw new TypeError(
      `schema.${key} ${what}; spread defaultSchema to keep the names that you do not change`,
    );
  }
  if (!rule.test(value)) {
    const parts = key === "table" ? ", or two such names with a dot between (schema.table)" : "";
    throw new RangeError(
      `schema.${key}: ${shown(value)} is not a safe name; it takes ${nameRule}${parts}`,
    );
  }
  return value;
}
