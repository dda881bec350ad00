import type { InboxAdministration } from "../../dialect/inbox-administration.ts";
import type { InboxSchema } from "../../dialect/inbox-schema.ts";
import { postgresInboxAdministration } from "../../dialect/postgres/inbox-administration.ts";
import { sqlserverInboxAdministration } from "../../dialect/sqlserver/inbox-administration.ts";
import { checkTable } from "../database/check-table.ts";
import { withDatabase } from "../database/connect.ts";
import type { Database } from "../database/database.ts";
import { kindOf } from "../database/database-kinds.ts";
import { requiredDatabaseUrl } from "../options/database-option.ts";
import { readSchema } from "../options/schema-option.ts";

/** What every command on an inbox takes. */
export interface InboxOptions {
  readonly databaseUrl?: string;
  readonly schema?: string;
  readonly json?: boolean;
}

/** An inbox that a command has open. */
export interface OpenInbox {
  readonly database: Database;
  readonly admin: InboxAdministration;
  readonly schema: InboxSchema;
}

/** Opens the database, sees that the table fits, uses it, and closes it whatever happens. */
export async function withInbox<T>(
  options: InboxOptions,
  use: (inbox: OpenInbox) => Promise<T>,
): Promise<T> {
  const url = requiredDatabaseUrl(options.databaseUrl);
  const admin =
    kindOf(url)?.dialect === "sqlserver"
      ? sqlserverInboxAdministration
      : postgresInboxAdministration;
  const schema = await readSchema(options.schema);
  return await withDatabase(url, async (database) => {
    await checkTable(database, admin, schema);
    return await use({ database, admin, schema });
  });
}
