import { Option } from "commander";
import { UsageError } from "../cli-error.ts";
import { kindOf } from "../database/database-kinds.ts";

export const databaseOption: Option = new Option(
  "--database-url <url>",
  "the PostgreSQL database, as postgres://localhost/shop",
).env("DATABASE_URL");

/**
 * The URL that was given, or undefined. Its text never goes into an error: it may hold a password.
 *
 * @throws UsageError where it is no PostgreSQL URL: an inbox is in no other database yet.
 */
export function databaseUrl(given: string | undefined): string | undefined {
  const url = given?.trim();
  if (url === undefined || url === "") return undefined;
  if (kindOf(url)?.dialect === "postgres") return url;
  throw new UsageError(
    "DATABASE_URL (or --database-url) takes a URL that begins with postgres:// or postgresql://",
  );
}

/** @throws UsageError where none was given. */
export function requiredDatabaseUrl(given: string | undefined): string {
  const url = databaseUrl(given);
  if (url !== undefined) return url;
  throw new UsageError(
    "there is no database: set DATABASE_URL, or give --database-url, as postgres://localhost/shop",
  );
}
