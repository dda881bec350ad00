/**
 * `intray/prisma`: a Prisma client on a handler's transaction.
 *
 * @module
 */
import { hasMethods, isObject } from "../options.ts";
import { type OrmTransaction, pgPoolOn, type TransactionPool } from "./transaction-pool.ts";

export type { OrmTransaction } from "./transaction-pool.ts";

/** Settings of the client that {@link prismaOn} makes: what `new PrismaClient` takes beside its adapter. */
export interface PrismaOnOptions {
  /** The database schema of the tables, as `new PrismaPg(pool, { schema })` takes it. */
  readonly schema?: string;
  /** What else goes to `new PrismaClient`: `log`, `omit`, `errorFormat`... */
  readonly client?: Readonly<Record<string, unknown>>;
}

/**
 * A Prisma client whose queries run in the handler's transaction. Its `$transaction` is a savepoint,
 * and when the handler has ended it refuses queries. The classes are the service's own: intray
 * imports no Prisma.
 *
 * Takes the transactions of `fromPg`, and Prisma 7 with `@prisma/adapter-pg`.
 *
 * @param PrismaClient the generated class.
 * @param PrismaPg the class of `@prisma/adapter-pg`.
 * @throws TypeError where the transaction has no client of pg.
 * @throws TransactionError where the handler has ended.
 * @example
 * await worker.run(async (message, tx) => {
 *   const prisma = prismaOn(tx, PrismaClient, PrismaPg);
 *   await prisma.order.create({ data: { id: message.id } });
 * });
 */
export function prismaOn<Client extends object>(
  tx: OrmTransaction,
  PrismaClient: new (options: never) => Client,
  PrismaPg: new (config: never, options?: never) => object,
  options: PrismaOnOptions = {},
): Client {
  if (typeof PrismaClient !== "function" || typeof PrismaPg !== "function") {
    throw new TypeError(
      "prismaOn takes the classes PrismaClient and PrismaPg: prismaOn(tx, PrismaClient, PrismaPg)",
    );
  }
  const { schema } = options;
  const pool = pgPoolOn("prismaOn", tx);
  const factory: object = Reflect.construct(PrismaPg, [{}, schema === undefined ? {} : { schema }]);
  return Reflect.construct(PrismaClient, [
    { ...options.client, adapter: adapterOn(factory, pool) },
  ]);
}

/**
 * The factory of adapters, on our pool. It asks by `instanceof` whether it was given a pool, and a
 * service may have several copies of `pg`: so the pool is put where it keeps one. What it then makes
 * is asked for the pool that it uses, since one of its own would write outside of the transaction.
 */
function adapterOn(factory: object, pool: TransactionPool): object {
  if (!hasMethods(factory, ["connect"])) throw unknownVersion();
  Object.assign(factory, { externalPool: pool });
  const connect = factory.connect.bind(factory);
  return Object.assign(factory, {
    connect: async () => {
      const adapter = await connect();
      if (!isObject(adapter) || !hasMethods(adapter, ["underlyingDriver"])) throw unknownVersion();
      if (adapter.underlyingDriver() !== pool) throw unknownVersion();
      return adapter;
    },
  });
}

function unknownVersion(): TypeError {
  return new TypeError("prismaOn does not know this version of @prisma/adapter-pg");
}
