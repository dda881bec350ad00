import { isObject, shown } from "../../options.ts";
import { UsageError } from "../cli-error.ts";
import { readText } from "../options/schema-option.ts";

/** A line of a message file. Its text goes to the database as it stands, so no number in it is rounded. */
export interface MessageLine {
  /** Where it is, as `file:line`. */
  readonly place: string;
  readonly text: string;
  readonly source: string;
}

/** What a line takes, as the help says it. */
export const LINE_FORMAT = `Each line of a message file is a JSON object:
  idempotencyKey  text, up to 255 characters; messages of one source and key are one message
  id              a UUID; or any text or number, which then stands for idempotencyKey.
                  One of the two must be there
  payload         any JSON; must be there
  source          text; "orders" by default
  aggregateId     text; messages of one aggregate are worked one at a time, in order
  eventType       text, such as "order.placed"
  correlationId   text, up to 128 characters
  headers         an object of texts. {"demo-fail": "2"} makes the handler fail twice,
                  {"demo-fail": "always"} each time
  scheduledAt     when it is due, as 2026-01-31T12:00:00Z; now by default
Blank lines are skipped. The handler adds payload.total, or the sum of payload.lines (quantity x
unitPrice), to the order payload.orderId, payload.id or aggregateId.`;

/** So many bad lines are told of; the rest is counted. */
const MOST_TOLD = 20;
/** A worker each. */
const MOST_SOURCES = 16;

/**
 * The messages of a file, line by line.
 *
 * @throws UsageError that names each bad line and what it takes.
 */
export async function readMessages(path: string, file: string = path): Promise<MessageLine[]> {
  const messages: MessageLine[] = [];
  const errors: string[] = [];
  const text = (await readText(path)).replace(/^\ufeff/, "");
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const place = `${file}:${index + 1}`;
    const checked = checkLine(line);
    if ("error" in checked) errors.push(`${place}: ${checked.error}`);
    else messages.push({ place, text: line.trim(), source: checked.source });
  }
  if (errors.length > 0) throw new UsageError(errorText(errors));
  if (messages.length === 0) throw new UsageError(`${file} has no message`);
  const sources = new Set(messages.map(({ source }) => source));
  if (sources.size > MOST_SOURCES) {
    throw new UsageError(`${file} has ${sources.size} sources; the demo works ${MOST_SOURCES}`);
  }
  return messages;
}

function errorText(errors: readonly string[]): string {
  const told = errors.slice(0, MOST_TOLD);
  const rest = errors.length - told.length;
  return [...told, ...(rest > 0 ? [`and ${rest} more bad lines`] : [])].join("\n");
}

const TEXTS = {
  idempotencyKey: 255,
  source: 255,
  aggregateId: 255,
  eventType: 255,
  correlationId: 128,
};
const KNOWN = [...Object.keys(TEXTS), "id", "payload", "headers", "scheduledAt"];

function checkLine(line: string): { readonly source: string } | { readonly error: string } {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      error: `no JSON (${why}); a line takes a JSON object such as {"idempotencyKey": "a-1", "payload": {}}`,
    };
  }
  if (!isObject(message) || Array.isArray(message)) {
    return { error: `a line takes a JSON object, not ${shown(message)}` };
  }
  const error = errorOf(message);
  if (error !== undefined) return { error };
  return { source: typeof message.source === "string" ? message.source : "orders" };
}

function errorOf(message: Record<string, unknown>): string | undefined {
  for (const key of Object.keys(message)) {
    if (!KNOWN.includes(key)) return `there is no "${key}"; a line has ${KNOWN.join(", ")}`;
  }
  for (const [key, most] of Object.entries(TEXTS)) {
    const value = message[key];
    if (value === undefined || value === null) continue;
    if (!isText(value, most)) {
      return `${key} takes a text of 1 to ${most} characters without NUL, not ${shown(value)}`;
    }
  }
  const { id, idempotencyKey, payload, scheduledAt } = message;
  const hasId = id !== undefined && id !== null;
  if (hasId && typeof id !== "number" && !isText(id, 255)) {
    return `id takes a UUID, or another text of 1 to 255 characters, or a number, not ${shown(id)}`;
  }
  if (!hasId && (idempotencyKey === undefined || idempotencyKey === null)) {
    return "idempotencyKey is missing; it takes a text that is unique within the source (or give an id)";
  }
  if (payload === undefined) return "payload is missing; it takes any JSON";
  if (scheduledAt !== undefined && scheduledAt !== null && !isTime(scheduledAt)) {
    return `scheduledAt takes a time with its zone, such as 2026-01-31T12:00:00Z, not ${shown(scheduledAt)}`;
  }
  return undefined;
}

function isText(value: unknown, most: number): boolean {
  if (typeof value !== "string" || value.trim() === "" || value.includes("\0")) return false;
  // The database counts characters, not the halves of them that JavaScript counts.
  return value.length <= most || [...value].length <= most;
}

function isTime(value: unknown): boolean {
  const form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})$/;
  return typeof value === "string" && form.test(value) && !Number.isNaN(Date.parse(value));
}
