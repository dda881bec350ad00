import { sql } from "drizzle-orm";
import { type MySqlDatabase, mysqlTable, varchar } from "drizzle-orm/mysql-core";
import {
  drizzle as drizzleMysql,
  type MySql2PreparedQueryHKT,
  type MySql2QueryResultHKT,
} from "drizzle-orm/mysql2";
import { drizzle } from "drizzle-orm/node-postgres";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { drizzle as drizzlePostgresJs } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import { drizzleOn } from "../../src/integration/drizzle.ts";
import { describeMysqlOrm } from "./mysql-orm-contract.ts";
import { describeOrm, type Shop } from "./orm-contract.ts";

const orders = pgTable("orders", { id: text("id").primaryKey(), total: integer("total") });
const schema = { orders };

function shopOf(db: PgDatabase<PgQueryResultHKT, typeof schema>): Shop {
  return {
    insert: async (id) => await db.insert(orders).values({ id }),
    ids: async () => (await db.query.orders.findMany()).map(({ id }) => id),
    raw: async (statement) => await db.execute(sql.raw(statement)),
    nested: (run) => db.transaction((tx) => run(shopOf(tx))),
  };
}

describeOrm("Drizzle", async () => ({
  on: (tx) => shopOf(drizzleOn(tx, (client) => drizzle({ client, schema }))),
}));

describeOrm(
  "Drizzle on postgres.js",
  async () => ({
    on: (tx) => shopOf(drizzleOn(tx, (client) => drizzlePostgresJs({ client, schema }))),
  }),
  {
    overlaps: "unseen",
    source: (url) => {
      const pool = postgres(url, { max: 3 });
      return { source: fromPostgresJs(pool), end: () => pool.end({ timeout: 5 }) };
    },
  },
);

const mysqlOrders = mysqlTable("orders", { id: varchar("id", { length: 50 }).primaryKey() });
const mysqlSchema = { orders: mysqlOrders };

function mysqlShopOf(
  db: MySqlDatabase<MySql2QueryResultHKT, MySql2PreparedQueryHKT, typeof mysqlSchema>,
): Shop {
  return {
    insert: async (id) => await db.insert(mysqlOrders).values({ id }),
    ids: async () => (await db.query.orders.findMany()).map(({ id }) => id),
    raw: async (statement) => await db.execute(sql.raw(statement)),
    nested: (run) =>
      db.transaction((tx) => run(mysqlShopOf(tx)), { isolationLevel: "read committed" }),
  };
}

describeMysqlOrm("Drizzle on mysql2", async () => ({
  on: (tx) =>
    mysqlShopOf(
      drizzleOn(tx, (client) => drizzleMysql({ client, schema: mysqlSchema, mode: "default" })),
    ),
}));
