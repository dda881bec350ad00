import knex, { type Knex } from "knex";
import { expect, test } from "vitest";
import { knexOn } from "../../src/integration/knex.ts";
import { describeMysqlOrm } from "./mysql-orm-contract.ts";
import { describeOrm, type Shop } from "./orm-contract.ts";
import { describeInsert, type InsertCase, Jobs } from "./orm-insert.ts";

function shopOf(db: Knex): Shop {
  return {
    insert: async (id) => await db("orders").insert({ id }),
    ids: async () => (await db<{ id: string }>("orders").select("id")).map(({ id }) => id),
    raw: async (sql) => await db.raw(sql),
    nested: (run) => db.transaction((trx) => run(shopOf(trx))),
  };
}

describeOrm("Knex", async (connection) => {
  const app = knex({ client: "pg", connection, pool: { min: 0, max: 1 } });
  return { on: (tx) => shopOf(knexOn(tx, app)), close: () => app.destroy() };
});

describeMysqlOrm("Knex on mysql2", async (connection) => {
  const app = knex({ client: "mysql2", connection, pool: { min: 0, max: 1 } });
  return { on: (tx) => shopOf(knexOn(tx, app)), close: () => app.destroy() };
});

function insertCase(db: Knex): InsertCase<Knex.Transaction> {
  return {
    transaction: (run) => db.transaction(run),
    order: async (tx, id) => await tx("orders").insert({ id }),
    plain: db,
    close: () => db.destroy(),
  };
}

const strange = {
  pool: { min: 0, max: 1 },
  postProcessResponse: () => "nothing like it",
  wrapIdentifier: (name: string) => `"${name}"`,
};

describeInsert("Knex", "postgres", async (connection) =>
  insertCase(knex({ ...strange, client: "pg", connection })),
);

describeInsert("Knex on mysql2", "mysql", async (connection) =>
  insertCase(knex({ client: "mysql2", connection, pool: { min: 0, max: 1 } })),
);

test("71: a Knex of another database is refused", async () => {
  class Other extends knex.Client {}
  const app = knex({ client: Other });
  await expect(Jobs.insert(app, { grp: "a", payload: 1 })).rejects.toThrow(
    'Knex: rows are written through one of the client "pg" or "mysql2"',
  );
});
