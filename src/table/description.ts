/**
 * What the rest of the library knows of a described table: plain data, checked once. Dialects build
 * statements from it, forms and the broker read its roles; nobody looks at the builders behind it.
 */

/** What a column does for the queue. A column without a role is the row's own data. */
export type Role =
  | "id"
  | "group"
  | "partitionKey"
  | "priority"
  | "retryAfter"
  | "attempt"
  | "lockedUntil"
  | "processedAt"
  | "headers"
  | "payload";

export type ColumnType =
  | "smallint"
  | "integer"
  | "bigint"
  | "text"
  | "bytes"
  | "json"
  | "boolean"
  | "timestamp"
  | "uuid"
  | "decimal"
  | "custom";

/** How a column of `c.custom` becomes a value and back; `decode` gets what the driver gives. */
export interface ColumnCodec {
  decode(raw: unknown): unknown;
  encode(value: unknown): unknown;
}

export interface ColumnDescription {
  /** The property in TypeScript. */
  readonly property: string;
  /** The column in the database: checked, not quoted. */
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** Filled by the database where an insert leaves it out; `always`: never written by an insert. */
  readonly generated: "never" | "byDefault" | "always";
  readonly role?: Role;
  readonly codec?: ColumnCodec;
}

/** How a claimed row is held. */
export type FormName = "rowLock" | "lease" | "advisoryLock";

/** How a group of a fifo table is ordered; see the option `fifo` of the group role. */
export type Fifo = "none" | "fifo" | "strict";

export type IsolationLevel =
  | "readUncommitted"
  | "readCommitted"
  | "repeatableRead"
  | "serializable"
  | "snapshot";

/** How SQLite opens a transaction. */
export type TransactionMode = "deferred" | "immediate" | "exclusive";

/** A part of the text that an advisory lock's key is rendered from. */
export type KeyPart = { readonly text: string } | { readonly column: ColumnDescription };

export interface TableDescription {
  /** The table's own name and its schema: checked, not quoted. */
  readonly name: string;
  readonly schema?: string;
  readonly form: FormName;
  /** In the order of the description. */
  readonly columns: readonly ColumnDescription[];
  readonly roles: { readonly [role in Role]?: ColumnDescription };
  readonly fifo: Fifo;
  /** What the attempt column's default is: 1, or 0 for `attempt({ from: 0 })`. */
  readonly attemptFrom: 0 | 1;
  /** Of the advisory lock form: what the key is rendered from. */
  readonly lockKey?: readonly KeyPart[];
  readonly isolation?: IsolationLevel;
  readonly mode?: TransactionMode;
  /** Whose clock "now" is; a function is asked once a statement. */
  readonly clock: "database" | "system" | (() => Date);
  /** Events that the service writes itself, by their names; each a function, or one a database. */
  readonly custom?: CustomEvents;
  /** Of a headers layout: what a handler takes, whose `id` is the queue table's `id`. */
  readonly message?: MessageDescription;
}

/** The message of a headers layout: columns that are read from the queue table by name. */
export interface MessageDescription {
  readonly columns: readonly ColumnDescription[];
  readonly roles: { readonly [role in Role]?: ColumnDescription };
}

/** The events that a service may write itself, instead of the dialect's statements. */
export const customEvents = [
  "claim",
  "fetch",
  "ack",
  "retry",
  "discard",
  "retryAfter",
  "deadLetter",
  "extend",
  "lock",
  "unlock",
] as const;

export type CustomEventName = (typeof customEvents)[number];

/** Each event has arguments of its own; the option's type has them, and here they are not looked at. */
export type CustomFunction = (...args: never[]) => Promise<unknown>;

/** A function, or one for each database by its name. */
export type CustomEvents = {
  readonly [event in CustomEventName]?:
    | CustomFunction
    | { readonly [database: string]: CustomFunction };
};

/** How messages name the table: quoted as little as people write it. */
export function tableLabel({ schema, name }: Pick<TableDescription, "schema" | "name">): string {
  return schema === undefined ? name : `${schema}.${name}`;
}
