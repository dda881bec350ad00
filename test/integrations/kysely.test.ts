import { type Dialect, Kysely, type KyselyPlugin, MysqlDialect, PostgresDialect, sql, type Transaction } from "kysely";
import mysql from "mysql2";
import pg from "pg";
import postgres from "postgres";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import { kyselyOn } from "../../src/integration/kysely.ts";
import { describeMysqlOrm } from "./mysql-orm-contract.ts";
import { describeOrm, type OrmCase, type Shop } from "./orm-contract.ts";
import { describeInsert, type InsertCase } from "./orm-insert.ts";

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

describeInsert("Kysely on mysql2", "mysql", async (uri) =>
  insertCase(
    new MysqlDialect({ pool: mysql.createPool({ uri, connectionLimit: 2, timezone: "+05:30" }) }),
  ),
);
