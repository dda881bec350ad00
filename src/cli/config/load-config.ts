import { pathToFileURL } from "node:url";
import { isObject } from "../../options.ts";
import { sanitizeError } from "../../redact.ts";
import { CliError } from "../cli-error.ts";
import { type Config, type ConfiguredDatabase, checkConfig } from "./check-config.ts";
import { findConfig } from "./find-config.ts";
import { readTypeScript } from "./read-typescript.ts";

/**
 * Finds the configuration, runs it, and checks what it exports.
 *
 * @throws CliError, exit code 2, that names the file and what is wrong with it.
 */
export async function loadConfig(named: string | undefined): Promise<Config> {
  const path = findConfig(named);
  await readTypeScript(/\.[mc]?ts$/.test(path));
  let exported: unknown;
  try {
    exported = defaultOf(await import(pathToFileURL(path).href));
  } catch (error) {
    throw new CliError("CONFIG", `${path} cannot be loaded: ${sanitizeError(error)}`, 2);
  }
  return checkConfig(path, exported);
}

/** What was compiled to CommonJS has its default export one step further down. */
function defaultOf(module: unknown): unknown {
  const outer = isObject(module) ? module.default : undefined;
  return isObject(outer) && "__esModule" in outer ? outer.default : outer;
}

/**
 * The databases that a command is about: all, or the one that was named.
 *
 * @throws CliError where there is none of that name.
 */
export function databasesNamed(
  { databases, path }: Config,
  name: string | undefined,
): readonly ConfiguredDatabase[] {
  if (name === undefined) return databases;
  const found = databases.filter((database) => database.name === name);
  if (found.length > 0) return found;
  const known = databases.map((database) => database.name).join(", ");
  throw new CliError("CONFIG", `${path} has no database ${name}; there are ${known}`, 2);
}
