import { Option } from "commander";
import { UsageError } from "../cli-error.ts";

export const databaseOption: Option = new Option(
  "--database-url <url>",
  "the PostgreSQL database, as postgres://localhost/shop",
).env("DATABASE_URL");

/**
 * The URL that was given, or undefined. Its text never goes into an error: it may hold a password.
 *
 * @param place what the error calls it.
 * @throws UsageError where it is no PostgreSQL URL.
 */
export function databaseUrl(
  given: string | undefined,
  place = "DATABASE_URL (or --database-url)",
): string | undefined {
  const url = given?.trim();
  if (url === undefined || url === "") return undefined;
  if (!/^postgres(ql)?:\/\//i.test(url)) {
    throw new UsageError(`${place} takes a URL that begins with postgres:// or postgresql://`);
  }
  return url;
}

/** @throws UsageError where none was given. */
export function requiredDatabaseUrl(given: string | undefined): string {
  const url = databaseUrl(given);
  if (url !== undefined) return url;
  throw new UsageError(
    "there is no database: set DATABASE_URL, or give --database-url, as postgres://localhost/shop",
  );
}
