import { randomBytes } from "node:crypto";
import { defaultSchema, type InboxSchema } from "../../dialect/inbox-schema.ts";
import { inboxDdl } from "../../dialect/postgres/inbox-ddl.ts";
import { withConnection } from "../../driver/checkout.ts";
import { sanitizeError } from "../../redact.ts";
import { CliError } from "../cli-error.ts";
import type { DemoDatabase } from "./demo-database.ts";

/** The demo's tables, in a database schema of their own: nothing that is there already is touched. */
export interface Shop {
  readonly database: DemoDatabase;
  /** The database schema; its name is new and safe to write into SQL. */
  readonly name: string;
  readonly inbox: InboxSchema;
  drop(): Promise<void>;
}

/** @throws CliError where the database user may not make them. */
export async function createShop(database: DemoDatabase): Promise<Shop> {
  const name = `intray_demo_${randomBytes(4).toString("hex")}`;
  const inbox = { ...defaultSchema, table: `${name}.inbox` };
  const shop = {
    database,
    name,
    inbox,
    drop: () => runAll(database, [`DROP SCHEMA IF EXISTS ${name} CASCADE`]),
  };
  try {
    await runAll(database, [`CREATE SCHEMA ${name}`]);
  } catch (error) {
    throw new CliError(
      "CREATE_SCHEMA",
      `cannot make the schema ${name} in ${database.name}: ${sanitizeError(error)}`,
    );
  }
  try {
    await runAll(database, [
      ...inboxDdl({ schema: inbox, extraIndexes: true }),
      `CREATE TABLE ${name}.orders (
        id text PRIMARY KEY, status text NOT NULL, messages int NOT NULL, total numeric NOT NULL)`,
    ]);
  } catch (error) {
    await shop.drop();
    throw error;
  }
  return shop;
}

async function runAll({ source }: DemoDatabase, statements: readonly string[]): Promise<void> {
  // The time limit is the connection's own: a statement here waits for nobody.
  await withConnection(source, new AbortController().signal, async (connection) => {
    for (const statement of statements) await connection.query(statement);
  });
}
