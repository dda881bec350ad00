import type { InboxDialect } from "./inbox-dialect.ts";
import { postgresInbox } from "./postgres/inbox.ts";
import { sqlserverInbox } from "./sqlserver/inbox.ts";

/** The inbox's dialects by the names that the published clients use. */
export const inboxDialects: { readonly [name in "postgresql" | "sqlserver"]: InboxDialect } = {
  postgresql: postgresInbox,
  sqlserver: sqlserverInbox,
};
