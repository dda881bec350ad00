/**
 * The one place where names become SQL: every identifier is checked and quoted here, and the
 * conditions that several statements share are written once.
 *
 * The conditions repeat the predicates of the partial indexes word by word, with literals: a
 * parameter in their place would keep a generic plan from using those indexes.
 */
import {
  checkInboxSchema,
  type InboxColumn,
  type InboxSchema,
  inboxColumnKeys,
} from "../inbox-schema.ts";
import { instant, quoted } from "./sql.ts";

/** The quoted names of a schema, and the conditions over a row called `alias`. */
export interface InboxNames {
  readonly schema: InboxSchema;
  /** The quoted table, in two parts where the schema has two. */
  readonly table: string;
  /** The quoted columns. */
  readonly column: Readonly<Record<InboxColumn, string>>;
  /** The place of a row in its order, as columns to select: what {@link place} and ORDER BY use. */
  readonly placed: (alias: string) => string;
  /** ORDER BY and comparisons of a row by its own columns: scheduled, created, id. */
  readonly order: (alias: string) => string;
  /** Waiting for a worker. */
  readonly pending: (alias: string) => string;
  /** Waiting, and its time has come. */
  readonly due: (alias: string) => string;
  /** In some worker's hands, dead or alive. */
  readonly processing: (alias: string) => string;
  /** In a worker's hands, and the lease holds. */
  readonly live: (alias: string) => string;
  /** In a worker's hands whose lease has run out. */
  readonly expired: (alias: string) => string;
}

/** How the queries inside a statement call the three columns of the order. */
export function place(alias: string): string {
  return `${alias}.scheduled_at, ${alias}.created_at, ${alias}.id`;
}

/** @throws TypeError or RangeError that names the missing or unsafe name. */
export function inboxNames(given: InboxSchema): InboxNames {
  const schema = checkInboxSchema(given);
  const column = quotedColumns(schema);
  const of = (alias: string, key: InboxColumn): string => `${alias}.${column[key]}`;
  const in_ = (alias: string, state: string): string =>
    `${of(alias, "consumption")} = 'pull' AND ${of(alias, "state")} = '${state}'`;
  return {
    schema,
    table: schema.table.split(".").map(quoted).join("."),
    column,
    placed: (alias) =>
      `${of(alias, "scheduledAt")} AS scheduled_at, ${of(alias, "createdAt")} AS created_at, ${of(alias, "id")} AS id`,
    order: (alias) => `${of(alias, "scheduledAt")}, ${of(alias, "createdAt")}, ${of(alias, "id")}`,
    pending: (alias) => in_(alias, "pending"),
    due: (alias) => `${in_(alias, "pending")} AND ${of(alias, "scheduledAt")} <= ${instant}`,
    processing: (alias) => in_(alias, "processing"),
    live: (alias) => `${in_(alias, "processing")} AND ${of(alias, "leaseExpiresAt")} > ${instant}`,
    expired: (alias) =>
      `${in_(alias, "processing")} AND ${of(alias, "leaseExpiresAt")} <= ${instant}`,
  };
}

function quotedColumns(schema: InboxSchema): Record<InboxColumn, string> {
  const column: Record<InboxColumn, string> = { ...schema };
  for (const key of inboxColumnKeys) column[key] = quoted(schema[key]);
  return column;
}
