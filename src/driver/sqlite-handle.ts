/** What the SQLite drivers have in common, as the source of connections uses it. All of them are synchronous. */
export interface SqliteHandle {
  /** Runs one statement; waits for nobody: a locked file is an error at once. */
  run(text: string, params: readonly SqliteValue[]): SqliteAnswer;
  /** Runs text of several statements. */
  runAll(text: string): void;
  close(): void;
  /** The driver's own object. */
  readonly client: object;
}

export type SqliteValue = null | string | number | bigint | Uint8Array;

export interface SqliteAnswer {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly changes: number;
}

/** A driver's prepared statement; what is optional some of them have. */
export interface SqliteStatementLike {
  all(...params: readonly unknown[]): unknown[];
  run(...params: readonly unknown[]): { readonly changes: number | bigint };
  /** Whether it answers rows. */
  readonly reader?: boolean;
  columns?(): readonly unknown[];
  safeIntegers?(on: boolean): unknown;
  setReadBigInts?(on: boolean): unknown;
}

/** A driver's database; what is optional some of them have. */
export interface SqliteDatabaseLike {
  prepare(text: string): SqliteStatementLike;
  exec(text: string): unknown;
  close(): unknown;
}

/**
 * A database of better-sqlite3, libsql or node:sqlite as a handle. `takesLists`: the driver takes the values of
 * a statement as one list. Where it does they go so, as libsql takes bytes that stand alone for named values,
 * and ends the process over them.
 */
export function handleOf(db: SqliteDatabaseLike, takesLists: boolean): SqliteHandle {
  const statements = new Map<string, { statement: SqliteStatementLike; reads: boolean }>();
  const prepared = (text: string) => {
    const known = statements.get(text);
    if (known !== undefined) return known;
    const statement = db.prepare(text);
    // Whole numbers beyond 2^53 keep all their digits; what a number holds becomes one again below.
    statement.safeIntegers?.(true);
    statement.setReadBigInts?.(true);
    const made = { statement, reads: answersRows(statement, text) };
    if (statements.size >= MOST_STATEMENTS) statements.clear();
    statements.set(text, made);
    return made;
  };
  return {
    client: db,
    run(text, params) {
      const { reads, statement } = prepared(text);
      const given = takesLists && params.length > 0 ? [params] : params;
      if (!reads) return { rows: [], changes: Number(statement.run(...given).changes) };
      const rows = statement.all(...given).map(rowOf);
      return { rows, changes: rows.length };
    },
    runAll: (text) => void db.exec(text),
    close: () => void db.close(),
  };
}

/** Above what a service sends again and again; texts made for each call are forgotten together. */
const MOST_STATEMENTS = 500;

function answersRows(statement: SqliteStatementLike, text: string): boolean {
  if (statement.reader !== undefined) return statement.reader;
  if (statement.columns !== undefined) return statement.columns().length > 0;
  return /^\s*(select|with|values|pragma|explain)\b|\breturning\b/i.test(text);
}

function rowOf(row: unknown): Record<string, unknown> {
  const cells = Object.entries(typeof row === "object" && row !== null ? row : {});
  return Object.fromEntries(cells.map(([name, value]) => [name, readValue(value)]));
}

function readValue(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  if (value instanceof ArrayBuffer) return Buffer.from(value);
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  return value;
}

/**
 * A parameter as every driver takes it. Whole numbers go as integers: drivers send numbers as floating
 * point, which a text column would store as `5.0`.
 */
export function sqliteValue(value: unknown, position: number): SqliteValue {
  switch (typeof value) {
    case "undefined":
      return null;
    case "string":
    case "bigint":
      return value;
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
    case "boolean":
      return value ? 1n : 0n;
    case "object":
      return objectValue(value, position);
    default:
      throw new TypeError(
        `parameter ${position} is a ${typeof value}; it takes null, a string, number, bigint, boolean, Date, bytes, an array or an object for JSON`,
      );
  }
}

function objectValue(value: object | null, position: number): SqliteValue {
  if (value === null) return null;
  if (value instanceof Date) {
    if (!Number.isNaN(value.getTime())) return value.toISOString();
    throw new TypeError(`parameter ${position} is an invalid Date`);
  }
  if (ArrayBuffer.isView(value)) {
    if (value.byteLength === 0) return NO_BYTES;
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  return JSON.stringify(value);
}

/** Empty, with memory behind it: node:sqlite in Node 22 stores other empty bytes as NULL. */
const NO_BYTES = Buffer.alloc(1).subarray(1);
