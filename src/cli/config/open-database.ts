import { dirname } from "node:path";
import { CliError, UsageError } from "../cli-error.ts";
import { withDatabase } from "../database/connect.ts";
import type { Database, OpenSettings } from "../database/database.ts";
import { kindOf, knownUrls } from "../database/database-kinds.ts";
import type { Config, ConfiguredDatabase } from "./check-config.ts";

/**
 * Opens a database of the configuration, uses it, and closes it whatever happens. A relative path of a file
 * starts where the configuration is.
 *
 * @throws CliError where it has no URL, or does not answer.
 */
export async function withConfigured<T>(
  { path }: Config,
  { name, url }: ConfiguredDatabase,
  use: (database: Database) => Promise<T>,
  settings: Pick<OpenSettings, "sessions"> = { sessions: "exact" },
): Promise<T> {
  if (url === undefined) {
    throw new CliError(
      "CONFIG",
      `${path}: databases.${name} has no url; where it comes from the environment, the variable is not set`,
      2,
    );
  }
  // Its text stays out of the error: it may hold a password.
  if (kindOf(url) === undefined) {
    throw new UsageError(`${path}: databases.${name}.url takes ${knownUrls()}`);
  }
  return await withDatabase(url, use, { folder: dirname(path), ...settings });
}
