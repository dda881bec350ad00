import { type Delay, delayMsOf } from "../delay.ts";
import type { Dialect } from "../dialect/dialect.ts";
import { checkBoolean, checkKnownKeys, isObject, shown } from "../options.ts";
import { type Role, type TableDescription, tableLabel } from "../table/description.ts";
import type { QueueDescription } from "../table/queue.ts";
import { decodeColumn } from "./column-values.ts";
import { insertRows } from "./insert.ts";
import { payloadFormat } from "./payload.ts";

/** What goes beside messages that are written to a queue. */
export interface MessageOptions {
  /** Headers of each message: text by name. Takes a table with a headers column. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long each waits before it can be claimed: milliseconds, or "30s". Takes a due column. */
  readonly delay?: Delay;
  /** A smaller one is claimed first. Takes a priority column. */
  readonly priority?: number | bigint;
  /** What its rows share that are worked in order; see `workersByKey`. Takes a partition key column. */
  readonly key?: string | number | bigint;
  /** Notifies listeners in other processes. Default: where a broker here listens on the table. */
  readonly notify?: boolean;
}

const KNOWN: readonly (keyof MessageOptions)[] = ["headers", "delay", "priority", "key", "notify"];

/**
 * Writes messages to a queue; answers their ids, in order. Through a handler's `tx` they are written when
 * its transaction commits, and the queue's subscriptions wake then.
 *
 * @throws TypeError or RangeError that names the option and what it takes, or what cannot be written.
 */
export async function insertMessages(
  queue: QueueDescription,
  conn: unknown,
  messages: readonly unknown[],
  dialect: Dialect,
  options: MessageOptions = {},
): Promise<readonly unknown[]> {
  const { table } = queue;
  const given = checkKnownKeys(`insert into ${queue.name}`, options, KNOWN);
  if (table.message !== undefined) {
    throw new TypeError(`${tableLabel(table)} is written with the insert of its headers table`);
  }
  const { payload } = table.roles;
  const beside: Record<string, unknown> = {
    ...groupOf(queue, dialect),
    ...cell(table, "headers", "headers", checkHeaders(given.headers)),
    ...cell(table, "priority", "priority", given.priority),
    ...cell(table, "partitionKey", "key", given.key),
  };
  const dueInMs = given.delay === undefined ? undefined : delayMsOf("delay", given.delay);
  const due = dueInMs === undefined ? undefined : column(table, "retryAfter", "delay");
  const clock = table.clock;
  if (due !== undefined && dueInMs !== undefined) {
    const now = typeof clock === "function" ? clock() : new Date();
    const isDatabases = clock === "database";
    beside[due.property] = isDatabases ? dueInMs : new Date(now.getTime() + dueInMs);
  }
  const rows = messages.map((message) => {
    if (message === undefined) throw new TypeError("a message takes a value, not undefined");
    if (payload !== undefined) return { ...beside, [payload.property]: message };
    return rowOf(queue, message, beside);
  });
  return await insertRows(table, conn, rows, {
    dialect,
    ...(payload !== undefined && { payload: payloadFormat(dialect, payload, queue.payload) }),
    ...(dueInMs !== undefined && clock === "database" && { dueInMs }),
    ...(given.notify !== undefined && { notify: checkBoolean("notify", given.notify) }),
  });
}

/** Without a payload column the message is the row; what goes beside it cannot stand in it too. */
function rowOf(
  { name, table }: QueueDescription,
  message: unknown,
  beside: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (!isObject(message) || Array.isArray(message)) {
    throw new TypeError(`${tableLabel(table)} takes rows as objects, not ${shown(message)}`);
  }
  for (const [property, value] of Object.entries(beside)) {
    const own = message[property];
    if (own === undefined || own === value) continue;
    throw new TypeError(
      `insert into ${name}: the row has ${property} ${shown(own)}, and it is to be ${shown(value)}: leave it out of the row`,
    );
  }
  return { ...message, ...beside };
}

function groupOf(
  { table, groups, group, name }: QueueDescription,
  dialect: Dialect,
): Record<string, unknown> {
  if (groups === "every") {
    throw new TypeError(
      `${name} is every group of ${tableLabel(table)}: write to the queue of one group`,
    );
  }
  const column = table.roles.group;
  if (column === undefined || group === undefined) return {};
  // A queue has its group as text, whatever the column is.
  return { [column.property]: decodeColumn(dialect, column, group) };
}

function cell(
  table: TableDescription,
  role: Role,
  option: string,
  value: unknown,
): Record<string, unknown> {
  return value === undefined ? {} : { [column(table, role, option).property]: value };
}

function column(table: TableDescription, role: Role, option: string) {
  const found = table.roles[role];
  if (found !== undefined) return found;
  throw new TypeError(
    `${option} takes a table with a column of the role ${role}, and ${tableLabel(table)} has none`,
  );
}

function checkHeaders(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value) || Array.isArray(value)) {
    throw new TypeError(`headers takes an object of texts, not ${shown(value)}`);
  }
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== "string") {
      throw new TypeError(`headers takes texts; "${name}" is ${shown(text)}`);
    }
  }
  return value;
}
