import type { InboxStatement } from "../../dialect/inbox-statement.ts";
import { sqlState } from "../../dialect/postgres/errors.ts";
import { sanitizeError } from "../../redact.ts";
import { UsageError } from "../cli-error.ts";
import { ask } from "../database/ask.ts";
import type { MessageLine } from "./message-file.ts";
import type { Shop } from "./shop.ts";

const CHUNK = 500;

/**
 * Writes the messages into the inbox as a QueueBox server does. Answers how many there are then: one
 * for each source and key.
 *
 * @throws UsageError that names the line which the database cannot store.
 */
export async function loadMessages(
  shop: Shop,
  messages: readonly MessageLine[],
  signal: AbortSignal,
): Promise<number> {
  let loaded = 0;
  for (let start = 0; start < messages.length; start += CHUNK) {
    const chunk = messages.slice(start, start + CHUNK);
    try {
      loaded += await insert(shop, chunk, signal);
    } catch (error) {
      // Class 22: something about the values, as \u0000 in a payload, which jsonb cannot hold.
      if (sqlState(error)?.startsWith("22") !== true) throw error;
      loaded += await insertOneByOne(shop, chunk, signal);
    }
  }
  return loaded;
}

async function insertOneByOne(
  shop: Shop,
  chunk: readonly MessageLine[],
  signal: AbortSignal,
): Promise<number> {
  let loaded = 0;
  for (const message of chunk) {
    try {
      loaded += await insert(shop, [message], signal);
    } catch (error) {
      if (sqlState(error)?.startsWith("22") !== true) throw error;
      throw new UsageError(
        `${message.place}: the database cannot store this message: ${sanitizeError(error)}`,
      );
    }
  }
  return loaded;
}

async function insert(
  shop: Shop,
  messages: readonly MessageLine[],
  signal: AbortSignal,
): Promise<number> {
  const lines = `[${messages.map(({ text }) => text).join(",")}]`;
  const { rows } = await ask(shop.database.source, insertStatement(shop), { lines }, signal);
  return rows.length;
}

/** The lines are taken apart by the server. A microsecond between them keeps their order. */
function insertStatement({ inbox }: Shop): InboxStatement {
  return {
    text: `INSERT INTO ${inbox.table} (id, source, idempotency_key, aggregate_id, event_type,
  correlation_id, payload, headers, scheduled_at, created_at, consumption)
SELECT
  CASE WHEN m.value ->> 'id' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
    THEN (m.value ->> 'id')::uuid ELSE gen_random_uuid() END,
  coalesce(m.value ->> 'source', 'orders'),
  coalesce(m.value ->> 'idempotencyKey', m.value ->> 'id'),
  m.value ->> 'aggregateId',
  m.value ->> 'eventType',
  m.value ->> 'correlationId',
  m.value -> 'payload',
  coalesce(m.value -> 'headers', '{}'),
  coalesce((m.value ->> 'scheduledAt')::timestamptz, statement_timestamp()),
  statement_timestamp() + m.n * interval '1 microsecond',
  'pull'
FROM jsonb_array_elements($1::text::jsonb) WITH ORDINALITY AS m (value, n)
ON CONFLICT DO NOTHING
RETURNING 1 AS loaded`,
    params: ["lines"],
  };
}
