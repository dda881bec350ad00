import { onTestFinished } from "vitest";
import { executorOf } from "../../src/broker/executor.ts";
import type { Clock } from "../../src/clock.ts";
import { systemClock } from "../../src/clock.ts";
import { bind } from "../../src/dialect/bind.ts";
import type { ClaimedRow } from "../../src/dialect/dialect.ts";
import { dialectNamed } from "../../src/dialect/dialects.ts";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import type { Delivery } from "../../src/engine/delivery.ts";
import { Engine } from "../../src/engine/engine.ts";
import { formOf } from "../../src/form/form.ts";
import type { FormSettings } from "../../src/form/form-settings.ts";
import { LAST_WAIT_MS } from "../../src/form/handler-end.ts";
import type { HandlerFacade } from "../../src/form/handler-transaction.ts";
import type { FormObserver, Reaction, Verdict } from "../../src/form/reaction.ts";
import type { TableDelivery } from "../../src/form/table-delivery.ts";
import { Log } from "../../src/log.ts";
import type {
  ColumnDescription,
  ColumnType,
  FormName,
  Role,
  TableDescription,
} from "../../src/table/description.ts";
import { LineLogger } from "./inbox.ts";
import type { Open, OpenedSource, OpenOptions } from "./sources.ts";
import { POSTGRES, type Words, wordsOf } from "./words.ts";

/** A described table, its rows, and a table for what handlers write. */
export interface OpenedForm extends OpenedSource {
  readonly table: TableDescription;
  /** A handler's write: one row with the given text. */
  readonly effect: string;
  /** The database's. */
  readonly words: Words;
  /** Writes rows of these texts, and answers their ids. */
  insert(...texts: readonly string[]): Promise<string[]>;
  rows(): Promise<FormRow[]>;
  /** What handlers wrote with {@link OpenedForm.effect}, in order. */
  effects(): Promise<string[]>;
}

export interface FormRow {
  readonly id: string;
  readonly text: string;
  readonly group: string;
  readonly attempt: number;
  readonly isDone: boolean;
  readonly isLeased: boolean;
  readonly isDue: boolean;
}

interface StoredForm {
  readonly id: string;
  readonly text: string;
  readonly of_group: string;
  readonly attempt: number;
  readonly is_done: unknown;
  readonly is_leased: unknown;
  readonly is_later: unknown;
}

/** A handler's write on PostgreSQL: one row with the given text. */
export const EFFECT: string = POSTGRES.effect;

export interface FormTableOptions extends OpenOptions {
  readonly form: FormName;
  /** The table has a column for when a row was processed. Default false: rows are deleted. */
  readonly keeps?: boolean;
  /** The table has an attempt column. Default true. */
  readonly counts?: boolean;
  readonly fifo?: TableDescription["fifo"];
  readonly isolation?: TableDescription["isolation"];
  readonly clock?: TableDescription["clock"];
  readonly custom?: NonNullable<TableDescription["custom"]>;
}

export async function openForm(open: Open, options: FormTableOptions): Promise<OpenedForm> {
  const opened = await open(options);
  const table = describe(options);
  const words = wordsOf(opened.dialect);
  await opened.query(words.jobs);
  await opened.query(words.effects);
  const dialect = dialectNamed(opened.dialect);
  const insert = dialect.insert(table, [columnNamed(table, "pay")], 1);
  return {
    ...opened,
    table,
    effect: words.effect,
    words,
    async insert(...texts) {
      const ids: string[] = [];
      for (const text of texts) {
        const [answer] = await executorOf(opened.source).run(
          [bind(insert, { r0c0: text })],
          dialect.beginShort,
        );
        const rows = answer?.rows ?? [];
        ids.push(...rows.map(({ id }) => String(id)));
      }
      return ids;
    },
    async rows() {
      const { now, text, truth } = words;
      const { rows } = await opened.query<StoredForm>(
        `SELECT ${text("id")} AS id, pay AS text, grp AS of_group, att AS attempt,
          ${truth("done IS NOT NULL")} AS is_done, ${truth(`lease > ${now}`)} AS is_leased,
          ${truth(`due > ${now}`)} AS is_later FROM jobs ORDER BY id`,
      );
      // Truth is a number where there is no type for it.
      return rows.map((row) => ({
        id: row.id,
        text: row.text,
        group: row.of_group,
        attempt: row.attempt,
        isDone: Boolean(row.is_done),
        isLeased: Boolean(row.is_leased),
        isDue: !row.is_later,
      }));
    },
    async effects() {
      const { rows } = await opened.query<{ what: string }>("SELECT what FROM effects ORDER BY n");
      return rows.map(({ what }) => what);
    },
  };
}

function columnNamed({ columns }: TableDescription, wanted: string): ColumnDescription {
  const found = columns.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no column ${wanted}`);
  return found;
}

function column(name: string, type: ColumnType, role?: Role): ColumnDescription {
  const nullable = role === "retryAfter" || role === "lockedUntil" || role === "processedAt";
  const generated = role === "id" || role === "attempt" ? "byDefault" : "never";
  return { property: name, name, type, nullable, generated, ...(role && { role }) };
}

function describe(options: FormTableOptions): TableDescription {
  const { clock = "database", counts = true, fifo = "none", form, keeps = false } = options;
  const columns = [
    column("id", "bigint", "id"),
    column("grp", "text", "group"),
    column("due", "timestamp", "retryAfter"),
    column("pay", "text", "payload"),
    ...(counts ? [column("att", "integer", "attempt")] : []),
    ...(keeps ? [column("done", "timestamp", "processedAt")] : []),
    ...(form === "lease" ? [column("lease", "timestamp", "lockedUntil")] : []),
  ];
  const pay = columns.find(({ name }) => name === "pay");
  return {
    name: "jobs",
    form,
    columns,
    roles: Object.fromEntries(columns.flatMap((each) => (each.role ? [[each.role, each]] : []))),
    fifo,
    attemptFrom: 1,
    clock,
    ...(form === "advisoryLock" && pay && { lockKey: [{ text: "key-" }, { column: pay }] }),
    ...(options.isolation && { isolation: options.isolation }),
    ...(options.custom && { custom: options.custom }),
  };
}

/** What a test's handler gets of one call. */
export interface HandlerCall {
  readonly texts: readonly string[];
  readonly rows: readonly ClaimedRow[];
  readonly delivery: Delivery;
  readonly signal: AbortSignal;
  /** Of transactional mode. */
  readonly tx: HandlerFacade;
}

/** Answers one verdict for all rows, or one a row; nothing acknowledges. */
export type TestHandler = (call: HandlerCall) => unknown;

export interface SubscribeOptions extends Partial<FormSettings> {
  readonly slots?: number;
  readonly inHand?: number;
  readonly pollIntervalMs?: number;
  readonly graceMs?: number;
  readonly clock?: Clock;
  /** What becomes of rows whose handler failed. Default: again in an hour. */
  readonly onFailure?: Verdict;
}

export interface Subscribed {
  readonly logger: LineLogger;
  readonly engine: Engine<TableDelivery>;
  /** `settled ack 1`, `returned lost 2`... as they came. */
  readonly told: string[];
  /** What the handler threw, or failed by. */
  readonly failures: unknown[];
  stop(): Promise<void>;
}

const NO_TRANSACTION: HandlerFacade = {
  query: () => Promise.reject(new Error("there is no transaction")),
  sql: () => Promise.reject(new Error("there is no transaction")),
  client: undefined,
};

const IN_AN_HOUR: Verdict = { kind: "retryAfter", delayMs: 3_600_000 };

/** Works the table's group "a" by its form, with this handler. Ends with the test. */
export function subscribe(
  { dialect: database, source: own, table }: Pick<OpenedForm, "dialect" | "source" | "table">,
  handler: TestHandler,
  options: SubscribeOptions = {},
): Subscribed {
  const logger = new LineLogger();
  const told: string[] = [];
  const failures: unknown[] = [];
  const { graceMs = 30_000, onFailure = IN_AN_HOUR, pollIntervalMs = 20, ...given } = options;
  const source: ConnectionSource = given.source ?? own;
  const holds = table.form !== "lease" || given.transactional === true;
  const most = source.max === undefined ? 4 : Math.max(1, source.max - 1);
  const slots = given.slots ?? (holds ? Math.min(4, most) : 4);
  const inHand = table.form === "lease" ? (given.inHand ?? slots) : slots;
  const batch = given.batch ?? 1;
  const payload = table.roles.payload;
  const reaction: Reaction = {
    async react(rows, delivery, transaction) {
      try {
        const answer = await handler({
          texts: rows.map((row) => String(row.c0)),
          rows,
          delivery,
          signal: delivery.signal,
          tx: transaction ?? NO_TRANSACTION,
        });
        // What a test writes is one verdict, or a list of them.
        const verdicts = rows.map((_, index): Verdict => {
          const verdict: unknown = Array.isArray(answer) ? answer[index] : answer;
          return verdict === undefined ? { kind: "ack" } : (verdict as Verdict);
        });
        return { verdicts, threw: false };
      } catch (error) {
        failures.push(error);
        return { verdicts: rows.map(() => onFailure), threw: true };
      }
    },
    failed(rows, error) {
      failures.push(error);
      return Promise.resolve(rows.map(() => onFailure));
    },
  };
  const observer: FormObserver = {
    claimed: (rows) => told.push(...rows.map(({ id }) => `claimed ${id}`)),
    settled: (row, verdict) => void told.push(`settled ${verdict.kind} ${row.id}`),
    returned: (row, why) => void told.push(`returned ${why} ${row.id}`),
  };
  const log = new Log(logger);
  const clock = given.clock ?? systemClock;
  const fields = { queue: "jobs" };
  const dialect = dialectNamed(database);
  const settings: FormSettings = {
    source,
    dialect,
    table,
    claim: {
      columns: payload === undefined ? [] : [payload],
      groups: "one",
      mostRows: inHand * batch,
      deadLetter: {},
    },
    queueGroup: "a",
    deadLetterGroup: "dead",
    batch,
    transactional: false,
    leaseMs: 30_000,
    canRenew: source.max !== 1,
    reaction,
    observer,
    prepare: true,
    log,
    fields,
    ...given,
    clock,
    // As a start finds it; where a database does not tell, there is none.
    ...(dialect.inspection.isolation && { isolation: table.isolation ?? "readCommitted" }),
  };
  const engine = new Engine(formOf(settings), {
    slots,
    inHand,
    ...(table.form !== "lease" && { mostClaims: slots }),
    pollIntervalMs,
    graceMs,
    lastWaitMs: LAST_WAIT_MS + 1000,
    clock,
    log,
    fields,
  });
  const controller = new AbortController();
  const ended = engine.run(controller.signal);
  ended.catch(() => {});
  const stop = () => {
    controller.abort();
    return ended;
  };
  onTestFinished(async () => {
    engine.stop(0);
    await ended.catch(() => {});
  });
  return { logger, engine, told, failures, stop };
}
