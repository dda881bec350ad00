import type { InboxSchema } from "../../../dialect/inbox-schema.ts";
import { checkTable } from "../../database/check-table.ts";
import { withDatabase } from "../../database/connect.ts";
import type { Database } from "../../database/database.ts";
import { requiredDatabaseUrl } from "../../options/database-option.ts";
import { readSchema } from "../../options/schema-option.ts";

/** What every command on dead messages takes. */
export interface DeadOptions {
  readonly databaseUrl?: string;
  readonly schema?: string;
  readonly json?: boolean;
}

/** Opens the database, sees that the table fits, and uses both. */
export async function withInbox<T>(
  options: DeadOptions,
  use: (database: Database, schema: InboxSchema) => Promise<T>,
): Promise<T> {
  const url = requiredDatabaseUrl(options.databaseUrl);
  const schema = await readSchema(options.schema);
  return await withDatabase(url, async (database) => {
    await checkTable(database, schema);
    return await use(database, schema);
  });
}
