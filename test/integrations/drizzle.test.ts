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
import { drizzle as drizzlePglite, type PgliteDatabase } from "drizzle-orm/pglite";
import { drizzle as drizzlePostgresJs } from "drizzle-orm/postgres-js";
import mysql from "mysql2/promise";
import pg from "pg";
import postgres from "postgres";
import { expect, test } from "vitest";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import { drizzleOn } from "../../src/integration/drizzle.ts";
import { describeOn } from "../support/databases.ts";
import { emptyPglite } from "../support/pglite.ts";
import { describeMysqlOrm } from "./mysql-orm-contract.ts";
import { describeOrm, type Shop } from "./orm-contract.ts";
import { describeInsert, type InsertCase, Jobs } from "./orm-insert.ts";

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

type PgDb = PgDatabase<PgQueryResultHKT, typeof schema>;

function insertCase(db: PgDb, close: () => Promise<unknown>): InsertCase<PgDb> {
  return {
    transaction: (run) => db.transaction(run),
    order: async (tx, id) => await tx.insert(orders).values({ id }),
    plain: db,
    close,
  };
}

describeInsert("Drizzle", "postgres", async (connectionString) => {
  const client = new pg.Pool({ connectionString, max: 2 });
  return insertCase(drizzle({ client, schema }), () => client.end());
});

describeInsert("Drizzle on postgres.js", "postgres", async (url) => {
  const client = postgres(url, { max: 2 });
  return insertCase(drizzlePostgresJs({ client, schema }), () => client.end({ timeout: 5 }));
});

describeInsert("Drizzle on mysql2", "mysql", async (uri) => {
  const client = mysql.createPool({ uri, connectionLimit: 2 });
  const db = drizzleMysql({ client, schema: mysqlSchema, mode: "default" });
  const mysqlCase: InsertCase<
    MySqlDatabase<MySql2QueryResultHKT, MySql2PreparedQueryHKT, typeof mysqlSchema>
  > = {
    transaction: (run) => db.transaction(run),
    order: async (tx, id) => await tx.insert(mysqlOrders).values({ id }),
    plain: db,
    close: () => client.end(),
  };
  return mysqlCase;
});

describeOn("pglite", "Drizzle on PGlite", () => {
  test("71: insert in its transaction", async () => {
    const client = await emptyPglite();
    for (const statement of Jobs.ddl("postgres")) await client.exec(statement);
    // Prisma brings a PGlite of its own, whose types Drizzle finds here.
    const db: PgliteDatabase = Reflect.apply(drizzlePglite, undefined, [{ client }]);
    const count = async () => (await client.query("SELECT FROM jobs")).rows.length;
    const rows = [
      { grp: "a", payload: 1, bytes: Buffer.from([0, 255]), big: 2n ** 63n - 1n },
      { grp: "b", payload: null },
    ];
    const failing = db.transaction(async (tx) => {
      expect(await Jobs.insert(tx, rows)).toEqual([1n, 2n]);
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    expect(await count()).toBe(0);
    const leaked: object[] = [];
    await db.transaction(async (tx) => {
      await Jobs.insert(tx, rows);
      leaked.push(tx);
    });
    expect(await count()).toBe(2);
    await expect(Jobs.insert(leaked[0] ?? {}, rows)).rejects.toThrow(/closed/);
    await Jobs.insert(db, rows);
    expect(await count()).toBe(4);
    const { rows: found } = await client.query(
      "SELECT big::text AS big, bytes::text AS bytes FROM jobs WHERE grp = 'a'",
    );
    expect(found).toEqual(Array(2).fill({ big: "9223372036854775807", bytes: "\\x00ff" }));
  });
});

test("71: a Drizzle on what is no driver's client is refused", async () => {
  await expect(Jobs.insert(drizzle.mock(), { grp: "a", payload: 1 })).rejects.toThrow(
    "Drizzle: rows are written through one on pg, postgres.js, PGlite or mysql2",
  );
});
