import { type EntityManager, EntitySchema, MikroORM } from "@mikro-orm/postgresql";
import { mikroOrmOn } from "../../src/integration/mikro-orm.ts";
import { describeOrm, type Shop } from "./orm-contract.ts";
import { describeInsert } from "./orm-insert.ts";

interface Order {
  id: string;
  total?: number | null;
}

const OrderSchema = new EntitySchema<Order>({
  name: "Order",
  tableName: "orders",
  properties: {
    id: { type: "text", primary: true },
    total: { type: "integer", nullable: true },
  },
});

function shopOf(em: EntityManager): Shop {
  return {
    insert: async (id) => {
      // Else it finds the order that it knows already, and inserts none.
      em.clear();
      em.create(OrderSchema, { id });
      await em.flush();
    },
    ids: async () => (await em.findAll(OrderSchema)).map(({ id }) => id),
    raw: (sql) => em.execute(sql),
    ends: [() => em.commit(), () => em.rollback()],
    nested: (run) => em.transactional((inner) => run(shopOf(inner))),
  };
}

describeOrm(
  "MikroORM",
  async (clientUrl) => {
    const orm = await MikroORM.init({ clientUrl, entities: [OrderSchema] });
    return { on: (tx) => shopOf(mikroOrmOn(tx, orm)), close: () => orm.close() };
  },
  { overlaps: "unseen" },
);

describeInsert("MikroORM", "postgres", async (clientUrl) => {
  const orm = await MikroORM.init({ clientUrl, entities: [OrderSchema] });
  return {
    transaction: (run) => orm.em.fork().transactional(run),
    async order(em: EntityManager, id) {
      em.create(OrderSchema, { id });
    },
    refused: { conn: () => orm.em.fork(), words: "insert within em.transactional(...)" },
    close: () => orm.close(),
  };
});

describeInsert("MikroORM's begin", "postgres", async (clientUrl) => {
  const orm = await MikroORM.init({ clientUrl, entities: [OrderSchema] });
  return {
    async transaction(run) {
      const em = orm.em.fork();
      await em.begin();
      try {
        await run(em);
      } catch (error) {
        await em.rollback();
        throw error;
      }
      await em.commit();
    },
    order: async (em: EntityManager, id) => void em.create(OrderSchema, { id }),
    refused: { conn: () => orm.em, words: "insert within em.transactional(...)" },
    close: () => orm.close(),
  };
});
