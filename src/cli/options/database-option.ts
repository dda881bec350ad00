import { Option } from "commander";
import { UsageError } from "../cli-error.ts";
import { kindOf } from "../database/database-kinds.ts";

/** The database that an inbox is in. */
export const databaseOption: Option = new Option(
  "--database-url <url>",
  "the PostgreSQL database or SQL Server, as postgres://localhost/shop or mssql://localhost/shop",
).env("DATABASE_URL");

export const postgresOption: Option = new Option(
  "--database-url <url>",
  "the PostgreSQL database, as postgres://localhost/shop",
).env("DATABASE_URL");

/**
 * The URL that was given, or undefined. Its text never goes into an error: it may hold a password.
 *
 * @throws UsageError where it is no PostgreSQL URL: the demo runs on no other database.
 */
export function postgresUrl(given: string | undefined): string | undefined {
  const url = given?.trim();
  if (url === undefined || url === "") return undefined;
  if (kindOf(url)?.dialect === "postgres") return url;
  throw new UsageError(
    "DATABASE_URL (or --database-url) takes a URL that begins with postgres:// or postgresql://",
  );
}

/** @throws UsageError where none was given, or one that no inbox is in. */
export function requiredDatabaseUrl(given: string | undefined): string {
  const url = given?.trim();
  if (url === undefined || url === "") {
    throw new UsageError(
      "there is no database: set DATABASE_URL, or give --database-url, as postgres://localhost/shop",
    );
  }
  if (["postgres", "sqlserver"].includes(kindOf(url)?.dialect ?? "")) return url;
  throw new UsageError(
    "DATABASE_URL (or --database-url) takes a URL that begins with postgres://, postgresql://, mssql:// or sqlserver://, or a connection string of SQL Server",
  );
}
