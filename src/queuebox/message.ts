import { PayloadError } from "../errors.ts";
import { isObject } from "../options.ts";
import { issuesText, type StandardSchema } from "../standard-schema.ts";
import type { InboxMessage } from "./types.ts";

/** A claimed row: its JSON is still text, so that one row's bad JSON is that row's alone. */
export interface InboxRow {
  readonly id: string;
  readonly source: string;
  readonly idempotencyKey: string;
  readonly aggregateId: string | null;
  readonly eventType: string | null;
  readonly correlationId: string | null;
  readonly payload: string;
  readonly headers: string | null;
  readonly attempt: number;
  /** Its last lease had expired: whoever had it died or stalled. */
  readonly wasExpired: boolean;
}

/** How a worker reads payloads: as JSON, as the text it is stored as, or as what a schema makes of the JSON. */
export type PayloadOption = undefined | "json" | "text" | StandardSchema;

/** The type of `message.payload` under a payload option. */
export type PayloadOf<Option extends PayloadOption> = Option extends "text"
  ? string
  : Option extends StandardSchema<infer Output>
    ? Output
    : unknown;

/**
 * The row as a message.
 * @throws PayloadError where payload or headers cannot be read.
 */
export async function readMessage(row: InboxRow, option: PayloadOption): Promise<InboxMessage> {
  const headers = readHeaders(row.headers);
  if (option === "text") return messageOf(row, row.payload, headers);
  const payload = parseJson("the payload is", row.payload);
  if (option === undefined || option === "json") return messageOf(row, payload, headers);
  const result = await option["~standard"].validate(payload);
  if (result.issues !== undefined) {
    throw new PayloadError(`the payload does not fit its schema: ${issuesText(result.issues)}`);
  }
  return messageOf(row, result.value, headers);
}

/** What a policy can be told of a row that cannot be read: everything but its payload and headers. */
export function unreadableMessage(row: InboxRow): InboxMessage {
  return messageOf(row, undefined, {});
}

function messageOf(
  row: InboxRow,
  payload: unknown,
  headers: Readonly<Record<string, string>>,
): InboxMessage {
  return {
    id: row.id,
    source: row.source,
    idempotencyKey: row.idempotencyKey,
    aggregateId: row.aggregateId,
    eventType: row.eventType,
    correlationId: row.correlationId,
    payload,
    headers,
    attempt: row.attempt,
  };
}

function readHeaders(text: string | null): Record<string, string> {
  if (text === null) return {};
  const headers = parseJson("the headers are", text);
  if (headers === null) return {};
  if (!isObject(headers) || Array.isArray(headers)) {
    throw new PayloadError("the headers are no flat JSON object");
  }
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, headerText(name, value)]),
  );
}

function headerText(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new PayloadError(`the headers are no flat JSON object: "${name}" is no text`);
}

function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The parser's own message quotes the text, and a payload is nobody's business in a log.
    throw new PayloadError(`${what} no JSON (${text.length} characters)`, {
      cause: new SyntaxError(
        cause instanceof SyntaxError ? "JSON.parse refused it" : String(cause),
      ),
    });
  }
}
