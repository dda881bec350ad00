import type { Clock } from "../clock.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { Statement } from "../dialect/statement.ts";
import { giveBack, withConnection } from "../driver/checkout.ts";
import type { Connection, ConnectionSource } from "../driver/connection.ts";
import { FatalError } from "../engine/work.ts";
import { asError, SchemaError, TableError } from "../errors.ts";
import { NO_LOCKS } from "../form/key-locks.ts";
import type { Log } from "../log.ts";
import { type IsolationLevel, type TableDescription, tableLabel } from "../table/description.ts";
import { columnFault, type InspectedColumn } from "./column-faults.ts";
import { ask, missingIndexes, refusalOf } from "./inspect.ts";
import { sharesSessions } from "./session-check.ts";

/**
 * What a subscription finds out before its first claim: whether the server is new enough, the table is
 * there with its columns, and the server takes each statement; and what it should say, once.
 *
 * @throws FatalError where starting again cannot help; anything else is an outage.
 */
export async function checkStart(
  settings: StartSettings,
  signal: AbortSignal,
): Promise<StartFacts> {
  const { source } = settings;
  const facts = await withConnection(source, signal, async (connection) => {
    await checkVersion(settings, connection);
    const leasePrecision = await checkColumns(settings, connection);
    await checkDestination(settings, connection);
    checkLocks(settings, connection);
    const isolation = await isolationOf(settings, connection);
    return {
      ...(leasePrecision !== undefined && { leasePrecision }),
      ...(isolation !== undefined && { isolation }),
    };
  });
  await checkSessions(settings, signal);
  await checkStatements(settings, settings.statements(facts), signal);
  await withConnection(source, signal, (connection) => warn(settings, facts, connection));
  return facts;
}

/** What the description does not say, and the database does. */
export interface StartFacts {
  /** How many digits of a second the lease column holds. */
  readonly leasePrecision?: number;
  /** The level that the table's transactions open at. */
  readonly isolation?: IsolationLevel;
}

export interface StartSettings {
  readonly source: ConnectionSource;
  readonly dialect: Dialect;
  readonly table: TableDescription;
  /** The other table that the subscription's dead letters are copied into, if there is one. */
  readonly destination?: TableDescription | undefined;
  /** All that the subscription will run, by their names. */
  statements(facts: StartFacts): ReadonlyMap<string, Statement>;
  readonly clock: Clock;
  /** A transaction stays open while the handler runs. */
  readonly holdsTransaction: boolean;
  readonly log: Log;
  readonly fields: Record<string, unknown>;
}

async function checkVersion(
  { dialect: { inspection } }: StartSettings,
  connection: Connection,
): Promise<void> {
  const [found] = await ask<{ version: unknown; label: unknown }>(connection, inspection.version);
  const { label, version } = inspection.oldestVersion;
  if (found === undefined || Number(found.version) >= version) return;
  throw new FatalError(
    new SchemaError(`the server is ${String(found.label)}; intray takes ${label} or later`),
  );
}

/** Answers the lease column's precision, where it has one. */
async function checkColumns(
  { dialect, table }: StartSettings,
  connection: Connection,
): Promise<number | undefined> {
  const label = tableLabel(table);
  const rows = await columnsOf(dialect, table, connection);
  if (rows.length === 0) {
    throw new FatalError(
      new SchemaError(
        `the database has no table ${label}: create it, or correct its name and schema. The table's ddl("${dialect.name}") prints how`,
      ),
    );
  }
  const there = new Set(rows.map(({ name }) => name));
  // What a message's own fetch reads may stand anywhere.
  const read = table.custom?.fetch === undefined ? (table.message?.columns ?? []) : [];
  const wanted = [...table.columns, ...read].map(({ name }) => name);
  const missing = [...new Set(wanted)].filter((name) => !there.has(name));
  if (missing.length > 0) {
    const what = missing.length === 1 ? "column" : "columns";
    throw new FatalError(
      new SchemaError(`the table ${label} has no ${what} ${missing.join(", ")}`),
    );
  }
  const fault = columnFault(table, rows, wanted);
  if (fault !== undefined) throw new FatalError(fault);
  const { attempt, lockedUntil } = table.roles;
  const precision = rows.find(({ name }) => name === lockedUntil?.name)?.precision ?? undefined;
  if (lockedUntil === undefined || precision === undefined) return undefined;
  if (attempt === undefined && Number(precision) < FINEST) {
    throw new FatalError(
      new SchemaError(
        `the table ${label}: its column ${lockedUntil.name} holds ${String(precision)} digits of a second, and two claims of a row could not be told apart; let it hold ${FINEST}, or give the table an attempt column`,
      ),
    );
  }
  return Number(precision);
}

/** What is copied is written by the session as what is inserted. */
async function checkDestination(
  { destination: table, dialect }: StartSettings,
  connection: Connection,
): Promise<void> {
  if (table === undefined || dialect.features.sessionsMayLose !== true) return;
  const rows = await columnsOf(dialect, table, connection);
  const fault = columnFault(
    table,
    rows,
    table.columns.map(({ name }) => name),
  );
  if (fault !== undefined) throw new FatalError(fault);
}

async function columnsOf(
  { inspection }: Dialect,
  table: TableDescription,
  connection: Connection,
): Promise<InspectedColumn[]> {
  return await ask<InspectedColumn>(connection, inspection.columns(table), {
    schema: table.schema ?? null,
    table: table.name,
  });
}

/** Digits of a second that tell any two moments of a database's clock apart. */
const FINEST = 6;

async function isolationOf(
  { dialect, table }: StartSettings,
  connection: Connection,
): Promise<IsolationLevel | undefined> {
  const { isolation: statement } = dialect.inspection;
  if (table.isolation !== undefined || statement === undefined) return table.isolation;
  const [row] = await ask<{ level: IsolationLevel }>(connection, statement);
  return row?.level;
}

/** Something must hold the keys. */
function checkLocks({ dialect, statements, table }: StartSettings, connection: Connection): void {
  if (table.form !== "advisoryLock" || connection.locks !== undefined) return;
  if (table.custom?.lock !== undefined || statements({}).has("unlock")) return;
  throw new FatalError(new TableError(`${tableLabel(table)}: ${dialect.name}: ${NO_LOCKS}`));
}

/** A lock that a session holds is of no use where each transaction may find another session. */
async function checkSessions(
  { clock, dialect, source, table }: StartSettings,
  signal: AbortSignal,
): Promise<void> {
  const { session } = dialect.inspection;
  if (table.form !== "advisoryLock" || session === undefined) return;
  if (!(await sharesSessions(source, session, clock, signal))) return;
  throw new FatalError(
    new TableError(
      `${tableLabel(table)} is held by advisory locks, which belong to a session, and a pooler between here and the server gives each transaction another one: connect to the server itself, or let the pooler keep a session for each client`,
    ),
  );
}

async function checkStatements(
  { dialect, source, table }: StartSettings,
  statements: ReadonlyMap<string, Statement>,
  signal: AbortSignal,
): Promise<void> {
  if (dialect.inspection.prepare === undefined) return;
  const connection = await source.connect(signal);
  let doubt: Error | undefined;
  try {
    for (const [name, statement] of statements) {
      const refusal = await refusalOf(connection, dialect, statement);
      if (refusal === undefined) continue;
      const why = asError(refusal.error).message;
      throw new FatalError(
        new SchemaError(
          `the server refuses the statement "${name}" on table ${tableLabel(table)}: ${why}`,
          { cause: refusal.error },
        ),
      );
    }
  } catch (error) {
    if (!(error instanceof FatalError)) doubt = asError(error);
    throw error;
  } finally {
    await giveBack(connection, doubt);
  }
}

async function warn(
  settings: StartSettings,
  { isolation }: StartFacts,
  connection: Connection,
): Promise<void> {
  const { dialect, fields, holdsTransaction, log, table } = settings;
  const { features, inspection } = dialect;
  for (const ddl of await missingIndexes(connection, dialect, table)) {
    log.warn("claims have no index to find rows by: they read more the more rows there are", {
      event: "index_advice",
      ...fields,
      table: tableLabel(table),
      ddl,
    });
  }
  if (holdsTransaction) {
    const rows = await ask<{ name: string; ms: unknown }>(connection, inspection.timeouts);
    for (const { name, ms } of rows) {
      log.warn(
        "the server ends transactions that idle: a row whose handler pauses longer between two statements comes again",
        { event: "server_timeout", ...fields, setting: name, timeoutMs: Number(ms) },
      );
    }
  }
  const conflicting = features.conflictingIsolations ?? [];
  if (table.form === "rowLock" && isolation !== undefined && conflicting.includes(isolation)) {
    log.warn(
      "at this isolation level claims fail whenever two workers meet; readCommitted is enough for row locks",
      {
        event: "isolation_advice",
        ...fields,
        level: isolation,
      },
    );
  }
}
