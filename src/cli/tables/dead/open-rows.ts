import {
  type DeadLetterSelection,
  type DeadLetters,
  deadLetters,
} from "../../../broker/dead-letters.ts";
import { type TableDescription, tableLabel } from "../../../table/description.ts";
import { CliError, UsageError } from "../../cli-error.ts";
import type { ConfiguredDatabase } from "../../config/check-config.ts";
import { databasesNamed, loadConfig } from "../../config/load-config.ts";
import { type PlacedTable, tableNamed } from "../../config/named-table.ts";
import { withConfigured } from "../../config/open-database.ts";
import type { ConfigOptions } from "../../options/config-option.ts";
import { rowsAt, seeTable } from "../see-table.ts";

/** What every command on dead letters takes. */
export interface DeadOptions extends ConfigOptions {
  readonly table?: string;
  readonly group?: string;
}

/** Rows that a command is about. */
export interface OpenRows {
  readonly rows: DeadLetters;
  readonly table: TableDescription;
  readonly group: string | undefined;
  /** How to call them: `app.email_jobs, group emails-failed`. */
  readonly label: string;
  /** Another table of the same database; the same where no name is given. */
  other(name: string | undefined): TableDescription;
}

/** Opens the database, sees that the table fits, and uses its rows. */
export async function withRows<T>(
  options: DeadOptions,
  use: (open: OpenRows) => Promise<T>,
): Promise<T> {
  const config = await loadConfig(options.config);
  const databases = databasesNamed(config, options.database);
  const isNamed = options.table !== undefined || options.group !== undefined;
  const place: PlacedRows = (isNamed ? undefined : onlyDeadLetters(databases)) ?? {
    ...tableNamed(config, databases, options.table),
    group: options.group,
  };
  const { database, group, table } = place;
  const of = rowsAt(table, group);
  return await withConfigured(config, database, async ({ source }) => {
    await seeTable(source, place);
    return await use({
      rows: deadLetters(source, of, { dialect: database.dialect }),
      table,
      group,
      label: labelOf(table, group),
      other: (name) => (name === undefined ? table : otherOf(config, place, name)),
    });
  });
}

interface PlacedRows extends PlacedTable {
  readonly group: string | undefined;
}

/**
 * The dead letters that the configuration names, where it names any.
 *
 * @throws UsageError where there are several.
 */
function onlyDeadLetters(databases: readonly ConfiguredDatabase[]): PlacedRows | undefined {
  const all = databases.flatMap((database) =>
    database.deadLetters.map((each): PlacedRows => ({ database, ...each })),
  );
  if (all.length <= 1) return all[0];
  const known = all.map(({ group, table }) => labelOf(table, group)).join("; ");
  throw new UsageError(
    `which dead letters? there are ${known}: name them with --table and --group`,
  );
}

function labelOf(table: TableDescription, group: string | undefined): string {
  return group === undefined ? tableLabel(table) : `${tableLabel(table)}, group ${group}`;
}

function otherOf(
  config: Parameters<typeof tableNamed>[0],
  { database }: PlacedTable,
  name: string,
): TableDescription {
  return tableNamed(config, [database], name).table;
}

export interface SelectionOptions {
  readonly id?: readonly string[];
  readonly all?: boolean;
}

/**
 * Nothing is changed for want of an option: what is meant must be said.
 *
 * @throws UsageError where it is not said, or said twice.
 */
export function selectionOf(
  command: string,
  { all = false, id = [] }: SelectionOptions,
): DeadLetterSelection {
  if (all !== id.length > 0) return all ? { all: true } : { ids: [...new Set(id)] };
  throw new UsageError(`${command} takes --id <id> for single rows, or --all; one of the two`);
}

/**
 * All of a table whose rows are in groups would be its live queues too.
 *
 * @throws UsageError where that could be meant.
 */
export function checkGroup(
  command: string,
  selection: DeadLetterSelection,
  { group, table }: Pick<OpenRows, "group" | "table">,
): void {
  if ("ids" in selection || group !== undefined || table.roles.group === undefined) return;
  throw new UsageError(
    `${command}: ${tableLabel(table)} has groups: say with --group whose rows --all means`,
  );
}

/** Rows that were named, and are not among those that were changed. */
export function missingOf(
  selection: DeadLetterSelection,
  changed: readonly string[],
): readonly string[] {
  if (!("ids" in selection)) return [];
  const there = new Set(changed);
  return selection.ids.map(String).filter((id) => !there.has(id));
}

export function notFound(label: string, ids: readonly string[]): CliError {
  return new CliError(
    "NOT_FOUND",
    `${label} has no row ${ids.join(", ")} that waits; one that is in work is left alone`,
  );
}
