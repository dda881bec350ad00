import { checkInboxSchema, defaultSchema, type InboxSchema } from "../dialect/inbox-schema.ts";
import type { InboxStatements } from "../dialect/inbox-statement.ts";
import { postgresInboxStatements } from "../dialect/postgres/inbox-contract.ts";
import { checkWord } from "../options.ts";
import type { SqlDialect } from "./types.ts";

/**
 * The five statements of the inbox contract, for workers in other languages and for tests: claim,
 * renew, complete, retry, dead. Their parameters are positional, in the order of `params`. An
 * {@link InboxWorker} may share a table with workers that run them; what an aggregate is promised beside
 * such a worker is what this claim promises.
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
  if (known === "sqlserver") {
    throw new RangeError(`dialect "sqlserver" is not built yet in this version`);
  }
  return postgresInboxStatements(checked);
}
