import { hasMethods, isObject } from "../options.ts";
import { mysqlPoolOn } from "./mysql-transaction-pool.ts";
import { type OrmTransaction, pgPoolOn } from "./transaction-pool.ts";

/** What intray needs of the service's Knex, structurally. */
export interface KnexLike {
  readonly client: unknown;
  withUserParams(params: Record<string, unknown>): unknown;
}

/**
 * A copy of a Knex whose queries run in the handler's transaction: of the driver that the Knex is for.
 *
 * @param name the function that the service called, for the error.
 * @param drivers those that it takes.
 */
export function knexCopyOn<K extends KnexLike>(
  name: string,
  tx: OrmTransaction,
  knex: K,
  drivers: readonly ("pg" | "mysql2")[] = ["pg"],
): K {
  const driver = hasMethods(knex, ["withUserParams"]) ? driverOf(knex.client) : undefined;
  const taken = drivers.find((each) => each === driver);
  if (taken === undefined) {
    throw new TypeError(`${name} takes a Knex of the client "${drivers.join('" or "')}" second`);
  }
  if (taken === "mysql2") {
    const pool = mysqlPoolOn(name, tx);
    return knexCopy(name, knex, () => pool.getConnection());
  }
  const pool = pgPoolOn(name, tx);
  return knexCopy(name, knex, () => pool.connect());
}

function knexCopy<K extends KnexLike>(name: string, knex: K, connect: () => unknown): K {
  const params: unknown = Reflect.get(knex, "userParams");
  // What copies a Knex with a client of its own.
  const copy = knex.withUserParams(isObject(params) ? { ...params } : {});
  if (!isCopyOf(knex, copy) || !isObject(copy.client) || copy.client === knex.client) {
    throw new TypeError(`${name} does not know this version of Knex: its copy has no own client`);
  }
  Object.assign(copy.client, {
    pool: undefined,
    acquireConnection: async () => {
      const session = await connect();
      if (isObject(session)) Object.assign(session, { __knexUid: `intray${++sessions}` });
      return session;
    },
    releaseConnection: async () => {},
    initializePool: () => {},
    destroy: async (callback?: () => void) => callback?.(),
  });
  return copy;
}

let sessions = 0;

function driverOf(client: unknown): unknown {
  return isObject(client) ? Reflect.get(client, "driverName") : undefined;
}

function isCopyOf<K extends KnexLike>(knex: K, copy: unknown): copy is K {
  return typeof copy === typeof knex && hasMethods(copy, ["withUserParams"]);
}
