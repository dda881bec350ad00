import { Kysely, MysqlDialect, PostgresDialect, sql } from "kysely";
import postgres from "postgres";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import { kyselyOn } from "../../src/integration/kysely.ts";
import { describeMysqlOrm } from "./mysql-orm-contract.ts";
import { describeOrm, type OrmCase, type Shop } from "./orm-contract.ts";

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
