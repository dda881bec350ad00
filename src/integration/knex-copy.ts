import { hasMethods, isObject } from "../options.ts";
import { type OrmTransaction, pgPoolOn } from "./transaction-pool.ts";

/** What intray needs of the service's Knex, structurally. */
export interface KnexLike {
  readonly client: unknown;
  withUserParams(params: Record<string, unknown>): unknown;
}

/**
 * A copy of a Knex whose queries run in the handler's transaction.
 *
 * @param name the function that the service called, for the error.
 */
export function knexCopyOn<K extends KnexLike>(name: string, tx: OrmTransaction, knex: K): K {
  if (!hasMethods(knex, ["withUserParams"]) || !isPgClient(knex.client)) {
    throw new TypeError(`${name} takes a Knex of the client "pg" second`);
  }
  const pool = pgPoolOn(name, tx);
  const params: unknown = Reflect.get(knex, "userParams");
  // What copies a Knex with a client of its own.
  const copy = knex.withUserParams(isObject(params) ? { ...params } : {});
  if (!isCopyOf(knex, copy) || !isObject(copy.client) || copy.client === knex.client) {
    throw new TypeError(`${name} does not know this version of Knex: its copy has no own client`);
  }
  Object.assign(copy.client, {
    pool: undefined,
    acquireConnection: async () => {
      const session = await pool.connect();
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

function isPgClient(client: unknown): boolean {
  return isObject(client) && Reflect.get(client, "driverName") === "pg";
}

function isCopyOf<K extends KnexLike>(knex: K, copy: unknown): copy is K {
  return typeof copy === typeof knex && hasMethods(copy, ["withUserParams"]);
}
