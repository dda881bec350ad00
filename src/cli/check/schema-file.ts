/** What a check learned of the databases, as a file to commit: sorted, so that a change to it is a change. */
import { readFile, writeFile } from "node:fs/promises";
import { isObject } from "../../options.ts";
import { tableLabel } from "../../table/description.ts";
import { CliError, UsageError } from "../cli-error.ts";
import type { CheckedTable } from "./check-table.ts";
import type { ColumnShape, TableShape } from "./table-shape.ts";

export const SCHEMA_FILE = "intray.schema.json";

/** Tables by their labels, of each database by its name. */
export type Shapes = ReadonlyMap<string, ReadonlyMap<string, TableShape>>;

export function shapesOf(
  databases: readonly { readonly name: string; readonly tables: readonly CheckedTable[] }[],
): Shapes {
  return new Map(
    databases.map(({ name, tables }) => [
      name,
      new Map(tables.map(({ shape, table }) => [tableLabel(table), shape ?? new Map()])),
    ]),
  );
}

export async function writeShapes(path: string, shapes: Shapes): Promise<void> {
  const databases = sorted(shapes, (tables) => ({
    tables: sorted(tables, (columns) => sorted(columns, (column) => column)),
  }));
  try {
    await writeFile(path, `${JSON.stringify({ version: 1, databases }, null, 2)}\n`);
  } catch (error) {
    throw new UsageError(
      `--write: cannot write ${path}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** By code point, which is the same on every machine. */
function sorted<From, To>(
  map: ReadonlyMap<string, From>,
  of: (value: From) => To,
): Record<string, To> {
  const names = [...map.keys()].sort();
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = map.get(name);
      return value === undefined ? [] : [[name, of(value)]];
    }),
  );
}

/** @throws CliError where there is no such file, or it is none of ours. */
export async function readShapes(path: string): Promise<Shapes> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError(
      "NO_SCHEMA_FILE",
      `cannot read ${path}: ${why}; "intray check --write" makes it`,
    );
  }
  try {
    const data: unknown = JSON.parse(text);
    if (!isObject(data) || data.version !== 1) throw new TypeError("it is no version 1");
    return mapOf("databases", data.databases, (place, database) =>
      mapOf(`${place}.tables`, isObject(database) ? database.tables : undefined, (table, columns) =>
        mapOf(table, columns, columnOf),
      ),
    );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${path} is not what "intray check --write" wrote: ${why}`);
  }
}

function mapOf<To>(
  place: string,
  value: unknown,
  of: (place: string, value: unknown) => To,
): ReadonlyMap<string, To> {
  if (!isObject(value)) throw new TypeError(`${place} is missing`);
  return new Map(Object.entries(value).map(([name, each]) => [name, of(`${place}.${name}`, each)]));
}

function columnOf(place: string, value: unknown): ColumnShape {
  const { generated, nullable, type } = isObject(value) ? value : {};
  const isKnown = generated === "never" || generated === "byDefault" || generated === "always";
  if (typeof type !== "string" || typeof nullable !== "boolean" || !isKnown) {
    throw new TypeError(`${place} takes type, nullable and generated`);
  }
  return { type, nullable, generated };
}
