import { promisify } from "node:util";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  type KyselyPlugin,
  MysqlDialect,
  PostgresDialect,
  SqliteDialect,
  sql,
  type Transaction,
} from "kysely";
import mysql from "mysql2";
import pg from "pg";
import postgres from "postgres";
import { expect, test } from "vitest";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import { kyselyOn } from "../../src/integration/kysely.ts";
import { describeMysqlOrm } from "./mysql-orm-contract.ts";
import { describeOrm, type OrmCase, type Shop } from "./orm-contract.ts";
import { describeInsert, type InsertCase, Jobs } from "./orm-insert.ts";

interface Database {
  orders: { id: string; total: number | null };
}

function shopOf(db: Kysely<Database>): Shop {
  return {
    insert: (id) => db.insertInto("orders").values({ id }).execute(),
    ids: async () => (await db.selectFrom("orders").select("id").execute()).map(({ id }) => id),
    raw: (text) => sql.raw(text).execute(db),
    nested: (run) => db.transaction().execute((trx) => run(shopOf(trx))),
  };
}

const open = async (): Promise<OrmCase> => ({
  on: (tx) => shopOf(kyselyOn(tx, Kysely<Database>, PostgresDialect)),
});

describeOrm("Kysely", open);

describeOrm("Kysely on postgres.js", open, {
  source: (url) => {
    const sql = postgres(url, { max: 3 });
    return { source: fromPostgresJs(sql), end: () => sql.end({ timeout: 5 }) };
  },
});

describeMysqlOrm("Kysely on mysql2", async () => ({
  on: (tx) => shopOf(kyselyOn(tx, Kysely<Database>, MysqlDialect)),
}));

function insertCase(dialect: Dialect): InsertCase<Transaction<Database>> {
  // A plugin that lets nothing through: the library's statements are none of its business.
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async () => ({ rows: [{ id: "a plugin's" }] }),
  };
  const db = new Kysely<Database>({ dialect, plugins: [plugin] });
  return {
    transaction: (run) => db.transaction().execute(run),
    order: (tx, id) => tx.insertInto("orders").values({ id }).execute(),
    plain: db,
    close: () => db.destroy(),
  };
}

describeInsert("Kysely", "postgres", async (connectionString) =>
  insertCase(new PostgresDialect({ pool: new pg.Pool({ connectionString, max: 2 }) })),
);

describeInsert("Kysely's startTransaction", "postgres", async (connectionString) => {
  const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString, max: 2 }) });
  const db = new Kysely<Database>({ dialect });
  return {
    ...insertCase(dialect),
    async transaction(run) {
      const trx = await db.startTransaction().execute();
      try {
        await run(trx);
      } catch (error) {
        await trx.rollback().execute();
        throw error;
      }
      await trx.commit().execute();
    },
    plain: db,
    close: () => db.destroy(),
  };
});

/** Where the session takes a backslash for itself, and times are another zone's. */
const STRANGE = "SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')";

describeInsert("Kysely on mysql2", "mysql", async (uri) => {
  const pool = mysql.createPool({ uri, connectionLimit: 2, timezone: "+05:30" });
  const onCreateConnection = async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(STRANGE));
  };
  const changing = mysql.createPool({ uri, connectionLimit: 1, typeCast: () => "other" });
  const refused = new Kysely<Database>({ dialect: new MysqlDialect({ pool: changing }) });
  return {
    ...insertCase(new MysqlDialect({ pool, onCreateConnection })),
    refused: { conn: () => refused, words: "the driver under it changes values" },
    async close() {
      await Promise.all([refused.destroy(), promisify(pool.end.bind(pool))()]);
    },
  };
});

test("71: a Kysely of another database is refused", async () => {
  const database = () => expect.unreachable("it was opened");
  const db = new Kysely<Database>({ dialect: new SqliteDialect({ database }) });
  await expect(Jobs.insert(db, { grp: "a", payload: 1 })).rejects.toThrow(
    "one of PostgreSQL, MySQL",
  );
});
