import type { InboxAdministration } from "../../dialect/inbox-administration.ts";
import type { CatalogueRow } from "../../dialect/inbox-dialect.ts";
import type { InboxSchema } from "../../dialect/inbox-schema.ts";
import { CliError } from "../cli-error.ts";
import { ask } from "./ask.ts";
import type { Database } from "./database.ts";

/** @throws CliError where the database has not the table, or the table not all columns. */
export async function checkTable(
  database: Database,
  inbox: InboxAdministration,
  schema: InboxSchema,
): Promise<void> {
  const { rows } = await ask<CatalogueRow>(database.source, inbox.columns(schema));
  const advice = `"intray queuebox ddl" prints the table as QueueBox schema V10 has it; other names go into --schema`;
  if (!rows.some((column) => column.table_present)) {
    throw new CliError("NO_TABLE", `${database.name} has no table ${schema.table}. ${advice}`);
  }
  const missing = rows.filter((column) => !column.present).map((column) => column.name);
  if (missing.length === 0) return;
  throw new CliError(
    "NO_COLUMN",
    `the table ${schema.table} has no column ${missing.join(", ")}. ${advice}`,
  );
}
