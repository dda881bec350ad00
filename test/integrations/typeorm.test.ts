import pg from "pg";
import { DataSource, type EntityManager, EntitySchema, type QueryRunner } from "typeorm";
import { expect, onTestFinished, test } from "vitest";
import { typeormOn } from "../../src/integration/typeorm.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { describeMysqlOrm } from "./mysql-orm-contract.ts";
import { describeOrm, type Shop } from "./orm-contract.ts";
import { describeInsert, type InsertCase, Jobs } from "./orm-insert.ts";

const Order = new EntitySchema<{ id: string; total?: number | null }>({
  name: "Order",
  tableName: "orders",
  columns: {
    id: { type: "text", primary: true },
    total: { type: "integer", nullable: true },
  },
});

function shopOf(manager: EntityManager, entity = Order): Shop {
  return {
    insert: (id) => manager.insert(entity, { id }),
    ends: [
      async () => manager.queryRunner?.commitTransaction(),
      async () => manager.queryRunner?.rollbackTransaction(),
    ],
    ids: async () => (await manager.getRepository(entity).find()).map(({ id }) => id),
    raw: (sql) => manager.query(sql),
    nested: (run) => manager.transaction((inner) => run(shopOf(inner, entity))),
  };
}

describeOrm(
  "TypeORM",
  async (url) => {
    const dataSource = new DataSource({ type: "postgres", url, entities: [Order] });
    await dataSource.initialize();
    return { on: (tx) => shopOf(typeormOn(tx, dataSource)), close: () => dataSource.destroy() };
  },
  { overlaps: "unseen" },
);

const MysqlOrder = new EntitySchema<{ id: string; total?: number | null }>({
  name: "Order",
  tableName: "orders",
  columns: {
    id: { type: "varchar", length: 50, primary: true },
    total: { type: "int", nullable: true },
  },
});

for (const type of ["mysql", "mariadb"] as const) {
  describeMysqlOrm(
    `TypeORM on ${type}`,
    async (url) => {
      const dataSource = new DataSource({ type, url, entities: [MysqlOrder] });
      await dataSource.initialize();
      return {
        on: (tx) => shopOf(typeormOn(tx, dataSource), MysqlOrder),
        close: () => dataSource.destroy(),
      };
    },
    { overlaps: "unseen" },
  );
}

function insertCase(dataSource: DataSource, entity = Order): InsertCase<EntityManager> {
  return {
    transaction: (run) => dataSource.transaction(run),
    order: (manager, id) => manager.insert(entity, { id }),
    plain: dataSource,
    refused: {
      conn: () => dataSource.createQueryRunner(),
      words: "call startTransaction() first",
    },
    close: () => dataSource.destroy(),
  };
}

describeInsert("TypeORM", "postgres", async (url) => {
  const dataSource = new DataSource({ type: "postgres", url, entities: [Order] });
  return insertCase(await dataSource.initialize());
});

describeInsert("TypeORM on mysql2", "mysql", async (url) => {
  const dataSource = new DataSource({ type: "mariadb", url, entities: [MysqlOrder] });
  return insertCase(await dataSource.initialize(), MysqlOrder);
});

/** A query runner's own transaction, without a manager. */
describeInsert("TypeORM's query runner", "postgres", async (url) => {
  const dataSource = new DataSource({ type: "postgres", url, entities: [Order] });
  await dataSource.initialize();
  const { manager } = dataSource;
  return {
    async transaction(run) {
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      try {
        await run(runner);
        await runner.commitTransaction();
      } catch (error) {
        await runner.rollbackTransaction();
        throw error;
      } finally {
        await runner.release();
      }
    },
    order: (runner: QueryRunner, id) => runner.manager.insert(Order, { id }),
    plain: manager,
    close: () => dataSource.destroy(),
  };
});

describeOn("postgres", "TypeORM in a handler", () => {
  test("71: it is the handler's tx that takes rows", async () => {
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    onTestFinished(() => pool.end());
    const dataSource = new DataSource({ type: "postgres", url: database.url, entities: [Order] });
    await dataSource.initialize();
    onTestFinished(() => dataSource.destroy());
    const client = await pool.connect();
    const manager = typeormOn({ client }, dataSource);
    await expect(Jobs.insert(manager, { grp: "a", payload: 1 })).rejects.toThrow(
      "TypeORM: its transaction is on no client that is known here: pass the driver's own, or in a handler its tx",
    );
    client.release();
  });
});
