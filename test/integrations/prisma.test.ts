import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { PrismaPg } from "@prisma/adapter-pg";
import { prismaOn } from "../../src/integration/prisma.ts";
import { describeOrm, type Shop } from "./orm-contract.ts";
import { describeInsert } from "./orm-insert.ts";

/** What the tests use of the generated client, whose types are not there before they run. */
interface Tables {
  readonly order: {
    create(args: { data: { id: string } }): Promise<unknown>;
    findMany(): Promise<{ id: string }[]>;
  };
  $executeRawUnsafe(sql: string): Promise<unknown>;
}

interface Client extends Tables {
  $transaction(run: (tx: Tables) => Promise<void>): Promise<unknown>;
  $disconnect(): Promise<void>;
}

/** `prisma generate`, told not to look for an engine that it does not need. */
async function generated(): Promise<new (options: never) => Client> {
  const folder = import.meta.dirname;
  const cli = join(folder, "node_modules", "prisma", "build", "index.js");
  await promisify(execFile)(process.execPath, [cli, "generate", "--schema", "schema.prisma"], {
    cwd: folder,
    env: {
      ...process.env,
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      CHECKPOINT_DISABLE: "1",
      PRISMA_HIDE_UPDATE_MESSAGE: "1",
    },
  });
  const file: string = join(folder, ".work", "prisma", "client.ts");
  return (await import(file)).PrismaClient;
}

function shopOf(prisma: Client): Shop {
  return {
    ...tablesOf(prisma),
    nested: (run) =>
      prisma.$transaction((inner) =>
        run({
          ...tablesOf(inner),
          nested: () => Promise.reject(new Error("Prisma nests one level")),
        }),
      ),
  };
}

function tablesOf(prisma: Tables): Omit<Shop, "nested"> {
  return {
    insert: (id) => prisma.order.create({ data: { id } }),
    ids: async () => (await prisma.order.findMany()).map(({ id }) => id),
    raw: (sql) => prisma.$executeRawUnsafe(sql),
  };
}

describeOrm("Prisma", async () => {
  const PrismaClient = await generated();
  return { on: (tx) => shopOf(prismaOn(tx, PrismaClient, PrismaPg)) };
});

describeInsert("Prisma", "postgres", async (connectionString) => {
  const PrismaClient = await generated();
  const options: object = { adapter: new PrismaPg({ connectionString }) };
  const prisma: Client = Reflect.construct(PrismaClient, [options]);
  return {
    transaction: (run) => prisma.$transaction(run),
    order: (tx: Tables, id) => tx.order.create({ data: { id } }),
    plain: prisma,
    close: () => prisma.$disconnect(),
  };
});
