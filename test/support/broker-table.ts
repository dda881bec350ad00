import { onTestFinished } from "vitest";
import { Broker } from "../../src/broker/broker.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { BrokerOptions } from "../../src/broker/types.ts";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { c } from "../../src/table/columns.ts";
import type { TableDescription } from "../../src/table/description.ts";
import { LineLogger } from "./inbox.ts";
import type { Open, OpenedSource, OpenOptions, Target } from "./sources.ts";
import { TestClock } from "./test-clock.ts";
import { until } from "./until.ts";
import { POSTGRES, wordsOf } from "./words.ts";

/** Columns that every table of these tests has. */
const common = {
  id: c.bigint().id().generated(),
  grp: c.text().group(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  prio: c.integer().priority().nullable(),
  lane: c.text().partitionKey().nullable(),
  headers: c.json().headers().nullable(),
  reason: c.text().nullable(),
  note: c.text().nullable(),
  payload: c.json().payload(),
};

export const LeaseJobs = inboxTable("lease_jobs", {
  columns: { ...common, lease: c.timestamp().lockedUntil().nullable() },
});

export const LockJobs = inboxTable("lock_jobs", { columns: common });

export const AdvisoryJobs = inboxTable("advisory_jobs", {
  columns: common,
  advisoryLock: "job-{id}",
});

/** The same table in each form. */
export const FORMS = [
  { form: "lease", Jobs: LeaseJobs },
  { form: "row lock", Jobs: LockJobs },
  { form: "advisory lock", Jobs: AdvisoryJobs },
] as const;

/** Those that the target's database holds rows by. */
export function formsOf(target: Target): readonly (typeof FORMS)[number][] {
  return fitting(target, FORMS);
}

/** The same of a test's own tables. */
export function fitting<Of extends { readonly Jobs: { readonly description: TableDescription } }>(
  { dialect }: Target,
  tables: readonly Of[],
): readonly Of[] {
  return tables.filter(({ Jobs }) => dialect.features.forms.includes(Jobs.description.form));
}

/** Their tables, of which handlers have a transaction and the session keeps nothing. */
export function transactionalTables(
  target: Target,
): readonly (typeof LeaseJobs | typeof LockJobs)[] {
  const isLock = target.dialect.features.forms.includes("rowLock");
  return isLock ? [LeaseJobs, LockJobs] : [LeaseJobs];
}

/** Creates the tables, and `effects`, which handlers write to. */
export async function openTables(
  open: Open,
  tables: readonly { ddl(database: string): readonly string[] }[],
  options?: OpenOptions,
): Promise<OpenedTables> {
  const opened = await open(options);
  const { dialect } = opened;
  const words = wordsOf(dialect);
  // What a source made by hand would say of itself.
  if (opened.source.database === undefined) Object.assign(opened.source, { database: dialect });
  const create = async (table: { ddl(database: string): readonly string[] }) => {
    for (const statement of table.ddl(dialect)) await opened.query(statement);
  };
  for (const table of tables) await create(table);
  await opened.query(words.effects);
  return {
    ...opened,
    create,
    effect: words.effect,
    later: words.truth(`due > ${words.now}`),
    async effects() {
      const found = await opened.query<{ what: string }>("SELECT what FROM effects ORDER BY n");
      return found.rows.map(({ what }) => what);
    },
    async rows({ description }) {
      const found = await opened.query<StoredRow>(
        `SELECT ${words.text("id")} AS id, grp, attempt, ${words.truth(`due > ${words.now}`)} AS later, reason,
          ${words.text("payload")} AS payload FROM ${description.name} ORDER BY id`,
      );
      // Truth is a number where there is no type for it.
      return found.rows.map((row) => ({ ...row, later: row.later === null ? null : !!row.later }));
    },
  };
}

export interface OpenedTables extends OpenedSource {
  /** A table that was not created at first. */
  create(table: { ddl(database: string): readonly string[] }): Promise<void>;
  /** A handler's write, of one text. */
  readonly effect: string;
  /** Whether the column `due` is later than now. */
  readonly later: string;
  effects(): Promise<string[]>;
  rows(table: { readonly description: TableDescription }): Promise<StoredRow[]>;
}

export interface StoredRow {
  readonly id: string;
  readonly grp: string;
  readonly attempt: number;
  /** Not due yet; null without a due time. */
  readonly later: boolean | null;
  readonly reason: string | null;
  readonly payload: string;
}

/** A handler's write on PostgreSQL. */
export const EFFECT: string = POSTGRES.effect;

/** A broker that polls every 20 ms, and is stopped when its test ends. */
export function testBroker(
  source: ConnectionSource,
  options: BrokerOptions = {},
): { readonly broker: Broker; readonly logger: LineLogger } {
  const logger = new LineLogger();
  const broker = new Broker(source, { pollIntervalMs: 20, logger, ...options });
  onTestFinished(async () => {
    const stopped = broker.stop({ graceMs: 0 }).then(() => true);
    const { clock } = options;
    if (!(clock instanceof TestClock)) return void (await stopped);
    await until(() => Promise.race([stopped, clock.advance(1000).then(() => false)]));
  });
  return { broker, logger };
}

/** What a promise was rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it was not rejected");
}
