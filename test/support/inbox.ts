import { defaultSchema, type InboxSchema } from "../../src/dialect/inbox-schema.ts";
import type { InboxLogger } from "../../src/queuebox/index.ts";
import { inboxWords } from "./inbox-words.ts";
import type { Open, OpenedSource, OpenOptions } from "./sources.ts";

/** A row of the inbox as a test writes it; what is left out has the table's default. */
export interface InboxInsert {
  readonly key?: string;
  readonly source?: string;
  readonly aggregateId?: string | null;
  readonly eventType?: string | null;
  readonly correlationId?: string | null;
  readonly payload?: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly attempt?: number;
  /** When it is due, in milliseconds from now; negative for the past. */
  readonly dueInMs?: number;
}

/** A row of the inbox as a test looks at it. */
export interface InboxState {
  readonly id: string;
  readonly key: string;
  readonly aggregateId: string | null;
  readonly state: string;
  readonly attempt: number;
  readonly lastError: string | null;
  readonly token: string | null;
  /** Milliseconds until it is due; negative when it is. */
  readonly dueInMs: number;
}

/** An empty database with an inbox and a table for what handlers write. */
export interface OpenedInbox extends OpenedSource {
  insert(...rows: readonly InboxInsert[]): Promise<void>;
  /** All rows, in claim order. */
  rows(): Promise<InboxState[]>;
  row(key: string): Promise<InboxState>;
  /** How many rows are in a state. */
  count(state: string): Promise<number>;
  /** What handlers wrote with {@link EFFECT}, in order. */
  effects(): Promise<string[]>;
}

/** A handler's write on PostgreSQL: one row with the given text. */
export const EFFECT: string = inboxWords("postgres").effect;

export interface OpenInboxOptions extends OpenOptions {
  readonly schema?: InboxSchema;
  readonly extraIndexes?: boolean;
  readonly listenNotify?: boolean;
}

export async function openInbox(
  open: Open,
  {
    schema = defaultSchema,
    extraIndexes = false,
    listenNotify = false,
    ...options
  }: OpenInboxOptions = {},
): Promise<OpenedInbox> {
  const opened = await open(options);
  const words = inboxWords(opened.dialect);
  for (const statement of [
    ...words.settings,
    ...words.ddl({ schema, extraIndexes, listenNotify }),
  ]) {
    await opened.query(statement);
  }
  await opened.query(words.effects);
  const insertion = words.insert(schema);
  let inserted = 0;
  const rows = async () => (await opened.query<InboxState>(words.rows(schema))).rows;
  return {
    ...opened,
    rows,
    async insert(...inserts) {
      for (const row of inserts) {
        inserted += 1;
        await opened.query(insertion, [
          row.source ?? "orders",
          row.key ?? `key-${inserted}`,
          row.aggregateId ?? null,
          row.eventType ?? null,
          row.correlationId ?? null,
          JSON.stringify(row.payload ?? { n: inserted }),
          JSON.stringify(row.headers ?? {}),
          row.attempt ?? 0,
          row.dueInMs ?? 0,
          // The clock of PGlite counts milliseconds: rows of one are in the order they were written.
          inserted,
        ]);
      }
    },
    async row(key) {
      const found = (await rows()).find((each) => each.key === key);
      if (found === undefined) throw new Error(`the inbox has no row ${key}`);
      return found;
    },
    async count(state) {
      return (await rows()).filter((each) => each.state === state).length;
    },
    async effects() {
      const found = await opened.query<{ what: string }>("SELECT what FROM effects ORDER BY n");
      return found.rows.map(({ what }) => what);
    },
  };
}

/** One line that a worker logged. */
export interface LoggedLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** A logger that keeps its lines. */
export class LineLogger implements InboxLogger {
  readonly lines: LoggedLine[] = [];

  info(message: string, fields: Record<string, unknown> = {}): void {
    this.lines.push({ level: "info", message, fields });
  }

  warn(message: string, fields: Record<string, unknown> = {}): void {
    this.lines.push({ level: "warn", message, fields });
  }

  error(message: string, fields: Record<string, unknown> = {}): void {
    this.lines.push({ level: "error", message, fields });
  }

  /** The lines of one event. */
  of(event: string): LoggedLine[] {
    return this.lines.filter((line) => line.fields.event === event);
  }
}

/** A worker's `run` that a test stops; `stopped` settles as `run` does. */
export interface Running {
  stop(): Promise<void>;
}

/** Starts `run` with a signal of its own. The test must stop it. */
export function start(run: (signal: AbortSignal) => Promise<void>): Running {
  const controller = new AbortController();
  const ended = run(controller.signal);
  // A rejection is seen at stop(); until then it must not count as unhandled.
  ended.catch(() => undefined);
  return {
    stop() {
      controller.abort();
      return ended;
    },
  };
}
