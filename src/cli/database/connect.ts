import { sanitize, sanitizeError } from "../../redact.ts";
import { CliError, UsageError } from "../cli-error.ts";
import type { Database, Opened, OpenSettings } from "./database.ts";
import { kindOf, knownUrls } from "./database-kinds.ts";

/**
 * Opens the database through the driver that is installed, and sees that it answers.
 *
 * @throws CliError where there is no driver, or no answer; UsageError where the URL is none.
 */
export async function connect(
  url: string,
  settings: Partial<OpenSettings> = {},
): Promise<Database> {
  const { folder = process.cwd(), max = 2, sessions = "exact" } = settings;
  const all: OpenSettings = { folder, max, sessions };
  const kind = kindOf(url);
  if (kind === undefined) throw new UsageError(`the database's URL takes ${knownUrls()}`);
  let opened: Opened | undefined;
  let name = sanitize(url);
  try {
    name = kind.nameOf?.(url, all) ?? name;
    opened = await kind.open(url, all);
    const connection = await opened.source.connect();
    await connection.release();
    return { ...opened, name };
  } catch (error) {
    await opened?.close();
    if (error instanceof CliError) throw error;
    throw new CliError("CONNECT", `cannot connect to ${name}: ${sanitizeError(error)}`);
  }
}

/** Opens the database, uses it, and closes it whatever happens. */
export async function withDatabase<T>(
  url: string,
  use: (database: Database) => Promise<T>,
  settings: Partial<OpenSettings> = {},
): Promise<T> {
  const database = await connect(url, settings);
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}
