/**
 * The one place where names become SQL: every identifier is checked and quoted here, and the conditions that
 * several statements share are written once.
 *
 * The conditions repeat the predicates of the filtered indexes with literals: a parameter in their place would
 * keep the optimizer from those indexes. Each literal has its column's type (`consumption` is varchar, `state`
 * nvarchar): a wider one converts the column, and no index serves it then. "Now" is `@now`, one instant a batch.
 */
import {
  checkInboxSchema,
  type InboxColumn,
  type InboxSchema,
  inboxColumnKeys,
} from "../inbox-schema.ts";
import { literal, now, quoted } from "./sql.ts";

/** The quoted names of a schema, and the conditions over a row called `alias`. */
export interface InboxNames {
  readonly schema: InboxSchema;
  /** The quoted table, in two parts where the schema has two. */
  readonly table: string;
  /** The table's number in the database: one for all ways to write its name. */
  readonly objectId: string;
  /** The quoted columns. */
  readonly column: Readonly<Record<InboxColumn, string>>;
  /** ORDER BY of a row by its own columns: scheduled, created, id. */
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

/** @throws TypeError or RangeError that names the missing or unsafe name. */
export function inboxNames(given: InboxSchema): InboxNames {
  const schema = checkInboxSchema(given);
  const table = schema.table.split(".").map(quoted).join(".");
  const column = quotedColumns(schema);
  const of = (alias: string, key: InboxColumn): string => `${alias}.${column[key]}`;
  const in_ = (alias: string, state: string): string =>
    `${of(alias, "consumption")} = 'pull' AND ${of(alias, "state")} = ${literal(state)}`;
  return {
    schema,
    table,
    objectId: `OBJECT_ID(${literal(table)})`,
    column,
    order: (alias) => `${of(alias, "scheduledAt")}, ${of(alias, "createdAt")}, ${of(alias, "id")}`,
    pending: (alias) => in_(alias, "pending"),
    due: (alias) => `${in_(alias, "pending")} AND ${of(alias, "scheduledAt")} <= ${now}`,
    processing: (alias) => in_(alias, "processing"),
    live: (alias) => `${in_(alias, "processing")} AND ${of(alias, "leaseExpiresAt")} > ${now}`,
    expired: (alias) => `${in_(alias, "processing")} AND ${of(alias, "leaseExpiresAt")} <= ${now}`,
  };
}

function quotedColumns(schema: InboxSchema): Record<InboxColumn, string> {
  const column: Record<InboxColumn, string> = { ...schema };
  for (const key of inboxColumnKeys) column[key] = quoted(schema[key]);
  return column;
}
