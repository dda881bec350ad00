import { type TableDescription, tableLabel } from "../../table/description.ts";
import { UsageError } from "../cli-error.ts";
import type { Config, ConfiguredDatabase } from "./check-config.ts";

/** A described table and the database that it is in. */
export interface PlacedTable {
  readonly database: ConfiguredDatabase;
  readonly table: TableDescription;
}

/**
 * The tables of these names, or all where there is no name. A name is `schema.table`, or the table's own
 * where one schema alone has it.
 *
 * @throws UsageError for a name that no table has.
 */
export function tablesNamed(
  { path }: Config,
  databases: readonly ConfiguredDatabase[],
  names: readonly string[],
): readonly PlacedTable[] {
  const all = databases.flatMap((database) =>
    database.tables.map((table): PlacedTable => ({ database, table })),
  );
  if (names.length === 0) return all;
  return names.flatMap((name) => {
    const exact = all.filter(({ table }) => tableLabel(table) === name);
    const found = exact.length > 0 ? exact : all.filter(({ table }) => table.name === name);
    if (found.length > 0) return found;
    const known = [...new Set(all.map(({ table }) => tableLabel(table)))].join(", ");
    throw new UsageError(`${path} describes no table ${name}; there are ${known}`);
  });
}

/**
 * The one table of that name; without a name the only one that there is.
 *
 * @throws UsageError where there is none, or several.
 */
export function tableNamed(
  config: Config,
  databases: readonly ConfiguredDatabase[],
  name: string | undefined,
): PlacedTable {
  // A message of a headers layout is its headers table: the first of a name stands for it.
  const byPlace = new Map<string, PlacedTable>();
  for (const each of tablesNamed(config, databases, name === undefined ? [] : [name])) {
    const place = `${each.database.name}: ${tableLabel(each.table)}`;
    if (!byPlace.has(place)) byPlace.set(place, each);
  }
  const [only, ...others] = byPlace.values();
  if (only !== undefined && others.length === 0) return only;
  throw new UsageError(
    `which table? ${config.path} describes ${[...byPlace.keys()].join(", ")}: name it with --table (and --database)`,
  );
}
