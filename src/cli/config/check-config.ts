import { type Place, placeOf } from "../../broker/admin.ts";
import { isDialect } from "../../broker/dialect-of.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { dialectNamed } from "../../dialect/dialects.ts";
import { checkKnownKeys, isObject, shown } from "../../options.ts";
import type { TableDescription } from "../../table/description.ts";
import { CliError } from "../cli-error.ts";
import { kindOf } from "../database/database-kinds.ts";

/** A configuration as the commands take it. */
export interface Config {
  /** Its file. */
  readonly path: string;
  readonly databases: readonly ConfiguredDatabase[];
}

export interface ConfiguredDatabase {
  readonly name: string;
  /** Whoever connects sees that there is one. */
  readonly url: string | undefined;
  readonly dialect: Dialect;
  readonly tables: readonly TableDescription[];
  readonly deadLetters: readonly Place[];
}

/** @throws CliError that names the file, the place in it, and what it takes there. */
export function checkConfig(path: string, exported: unknown): Config {
  try {
    if (!isObject(exported)) {
      throw new TypeError(
        exported === undefined
          ? "there is no default export: write export default defineConfig({ ... })"
          : `the default export takes an object, as defineConfig({ ... }), not ${shown(exported)}`,
      );
    }
    const { databases } = checkKnownKeys("the configuration", exported, ["databases"]);
    if (!isObject(databases) || Array.isArray(databases) || Object.keys(databases).length === 0) {
      throw new TypeError(
        `databases takes an object with a name for each database, as { main: { url, tables } }, not ${shown(databases)}`,
      );
    }
    return {
      path,
      databases: Object.entries(databases).map(([name, each]) => databaseOf(name, each)),
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError("CONFIG", `${path}: ${why}`, 2);
  }
}

function databaseOf(name: string, value: unknown): ConfiguredDatabase {
  const place = `databases.${name}`;
  const given = checkKnownKeys(place, value, ["url", "dialect", "tables", "deadLetters"]);
  const { deadLetters = [], dialect, tables } = given;
  const url = urlOf(place, given.url);
  if (!Array.isArray(tables) || tables.length === 0) {
    throw new TypeError(
      `${place}.tables takes a list of what inboxTable() made, not ${Array.isArray(tables) ? "an empty one" : shown(tables)}`,
    );
  }
  if (!Array.isArray(deadLetters)) {
    throw new TypeError(`${place}.deadLetters takes a list of queues, not ${shown(deadLetters)}`);
  }
  const list: readonly unknown[] = tables;
  const dead: readonly unknown[] = deadLetters;
  return {
    name,
    url,
    dialect: dialectOf(place, dialect, url),
    tables: list.map((table, index) => tableOf(`${place}.tables[${index}]`, table)),
    deadLetters: dead.map((each, index) => deadLettersOf(`${place}.deadLetters[${index}]`, each)),
  };
}

function urlOf(place: string, url: unknown): string | undefined {
  if (url === undefined || typeof url === "string") return url?.trim() || undefined;
  throw new TypeError(`${place}.url takes a URL as text, not ${shown(url)}`);
}

/** Where it is not said, the URL tells. */
function dialectOf(place: string, value: unknown, url: string | undefined): Dialect {
  const told = url === undefined ? undefined : kindOf(url)?.dialect;
  if (value === undefined) return dialectNamed(told ?? "postgres");
  if (typeof value === "string") {
    const dialect = dialectNamed(value);
    if (told === undefined || told === value) return dialect;
    throw new TypeError(
      `${place}.dialect is "${value}", and ${place}.url is of ${told}: leave the dialect out, or correct one of them`,
    );
  }
  if (isDialect(value)) return value;
  throw new TypeError(`${place}.dialect takes a dialect's name, such as "postgres", or a Dialect`);
}

function tableOf(place: string, value: unknown): TableDescription {
  const description = isObject(value) ? value.description : undefined;
  if (isDescription(description)) return description;
  const isQueue = isObject(value) && isDescription(value.table);
  throw new TypeError(
    isQueue
      ? `${place} is a queue: it takes the table itself, as inboxTable() made it`
      : `${place} is no described table: it takes what inboxTable() made, not ${shown(value)}`,
  );
}

function deadLettersOf(place: string, value: unknown): Place {
  try {
    return placeOf(value);
  } catch {
    throw new TypeError(`${place} takes a queue or a described table, not ${shown(value)}`);
  }
}

function isDescription(value: unknown): value is TableDescription {
  return (
    isObject(value) &&
    typeof value.name === "string" &&
    Array.isArray(value.columns) &&
    isObject(value.roles)
  );
}
