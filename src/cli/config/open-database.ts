import { CliError } from "../cli-error.ts";
import { type Database, withDatabase } from "../database/connect.ts";
import { databaseUrl } from "../options/database-option.ts";
import type { Config, ConfiguredDatabase } from "./check-config.ts";

/**
 * Opens a database of the configuration, uses it, and closes it whatever happens.
 *
 * @throws CliError where it has no URL, or does not answer.
 */
export async function withConfigured<T>(
  { path }: Config,
  { name, url }: ConfiguredDatabase,
  use: (database: Database) => Promise<T>,
): Promise<T> {
  if (url === undefined) {
    throw new CliError(
      "CONFIG",
      `${path}: databases.${name} has no url; where it comes from the environment, the variable is not set`,
      2,
    );
  }
  const checked = databaseUrl(url, `${path}: databases.${name}.url`);
  return await withDatabase(checked ?? url, use);
}
