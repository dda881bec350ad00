import { checkInboxSchema, defaultSchema, type InboxSchema } from "../dialect/inbox-schema.ts";
import type { InboxStatements } from "../dialect/inbox-statement.ts";
import { postgresInboxStatements } from "../dialect/postgres/inbox-contract.ts";
import { sqlserverInboxStatements } from "../dialect/sqlserver/inbox-contract.ts";
import { checkWord } from "../options.ts";
import type { SqlDialect } from "./types.ts";

/**
 * The five statements of the inbox contract, for workers in other languages and for tests: claim,
 * renew, complete, retry, dead. Their parameters are positional (`$1`, `@p1`), in the order of `params`. An
 * {@link InboxWorker} may share a table with workers that run them; what an aggregate is promised beside
 * such a worker is what this claim promises. On SQL Server the claim runs in a transaction of its own, and the
 * other four answer one row where they changed the message, and none where the claim was lost.
 *
 * @throws TypeError or RangeError that names the dialect or the name of the schema which is wrong.
 * @example
 * const { claim } = inboxSql("postgresql", defaultSchema);
 * await client.query(claim.text, ["orders", 10, 30_000, 50]);
 */
export function inboxSql(
  dialect: SqlDialect,
  schema: InboxSchema = defaultSchema,
): InboxStatements {
  const checked = checkInboxSchema(schema);
  const known = checkWord("dialect", dialect, ["postgresql", "sqlserver"]);
  return known === "sqlserver"
    ? sqlserverInboxStatements(checked)
    : postgresInboxStatements(checked);
}
