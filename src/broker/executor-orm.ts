/**
 * Writing in an ORM's open transaction. An ORM is known by its shape: none is imported. Where it gives the driver's
 * client on which the transaction is open, rows are written through that, as if the service had passed it.
 */
import { hasMethods, isObject } from "../options.ts";
import type { Executor } from "./executor.ts";
import { drizzleExecutorOf } from "./executor-drizzle.ts";
import { knexExecutorOf } from "./executor-knex.ts";
import { kyselyExecutorOf } from "./executor-kysely.ts";
import { prismaExecutorOf } from "./executor-prisma.ts";
import { typeormExecutorOf } from "./executor-typeorm.ts";

/**
 * @throws TypeError where the value is of an ORM, and nobody can tell in which transaction it writes.
 */
export function ormExecutorOf(value: unknown): Executor | undefined {
  return (
    knexExecutorOf(value) ??
    kyselyExecutorOf(value) ??
    drizzleExecutorOf(value) ??
    typeormExecutorOf(value) ??
    mikroOrmExecutorOf(value) ??
    prismaExecutorOf(value)
  );
}

/**
 * MikroORM keeps its transaction as the query builder's under it. Its entity manager writes when it flushes, in a
 * transaction of that flush's own: without one that is open already nothing could be written together with it.
 */
function mikroOrmExecutorOf(value: unknown): Executor | undefined {
  if (!isObject(value) || !hasMethods(value, ["getTransactionContext", "fork", "flush"])) {
    return undefined;
  }
  const context = value.getTransactionContext();
  if (context === undefined) {
    throw new TypeError(
      "MikroORM: this entity manager has no transaction open, and would flush in another: insert within em.transactional(...), or after em.begin()",
    );
  }
  const executor = knexExecutorOf(context) ?? kyselyExecutorOf(context);
  if (executor !== undefined) return executor;
  throw new TypeError(
    "MikroORM: the transaction of this entity manager is none of PostgreSQL, MySQL or MariaDB that is known here: pass the driver's own client",
  );
}
