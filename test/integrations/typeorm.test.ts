import { DataSource, type EntityManager, EntitySchema } from "typeorm";
import { typeormOn } from "../../src/integration/typeorm.ts";
import { describeOrm, type Shop } from "./orm-contract.ts";

const Order = new EntitySchema<{ id: string; total?: number | null }>({
  name: "Order",
  tableName: "orders",
  columns: {
    id: { type: "text", primary: true },
    total: { type: "integer", nullable: true },
  },
});

function shopOf(manager: EntityManager): Shop {
  return {
    insert: (id) => manager.insert(Order, { id }),
    ends: [
      async () => manager.queryRunner?.commitTransaction(),
      async () => manager.queryRunner?.rollbackTransaction(),
    ],
    ids: async () => (await manager.getRepository(Order).find()).map(({ id }) => id),
    raw: (sql) => manager.query(sql),
    nested: (run) => manager.transaction((inner) => run(shopOf(inner))),
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
