/** The pools and connections of mysql2 and mariadb as a service has them, for writing a few rows. */
import { hasMethods, isObject } from "../options.ts";
import type { Connection, ConnectionSource } from "./connection.ts";
import type { GuardableMysqlClient } from "./guarded-mysql-client.ts";
import { MysqlConnection } from "./mysql-connection.ts";

type Methods<Name extends string> = Record<Name, (...args: unknown[]) => unknown>;

/** What a value of these drivers is: a source of connections, or the one connection that it is. */
export type MysqlWriting =
  | { readonly source: ConnectionSource; readonly pool: object }
  | { readonly connection: Connection; readonly session: object };

/**
 * What can be written through, or undefined where the value is of no such driver.
 *
 * @throws TypeError for the parts of these drivers, and for the package `mysql`, that cannot be awaited.
 */
export function mysqlWritingOf(value: unknown): MysqlWriting | undefined {
  if (hasMethods(value, ["getConnection", "query"])) {
    return { source: sourceOf(promised(value) ?? awaited(value)), pool: value };
  }
  if (!hasMethods(value, ["query", "beginTransaction", "commit", "rollback"])) return undefined;
  const client = promised(value) ?? awaited(value);
  if (!isClient(client)) throw wrongPackage("mysql");
  return { connection: connectionOn(client), session: mysqlSessionOf(value) };
}

/** One connection has several faces in mysql2: its own, and one for promises each time that it is asked. */
export function mysqlSessionOf(value: object): object {
  const core: unknown = Reflect.get(value, "connection");
  return isObject(core) ? core : value;
}

/** mysql2 without promises answers its other self. */
function promised(value: object): object | undefined {
  if (!hasMethods(value, ["promise"])) return undefined;
  const answer = value.promise();
  return isObject(answer) ? answer : undefined;
}

/** Promises take no callback: what does would never be answered. */
function awaited<Value extends object>(value: Value): Value {
  const getConnection: unknown = Reflect.get(value, "getConnection");
  if (!hasMethods(value, ["execute"])) throw wrongPackage("mysql");
  const isMariadb = hasMethods(value, ["batch"]);
  const takesCallback =
    typeof getConnection === "function"
      ? getConnection.length > 0
      : isMariadb && hasMethods(value, ["connect"]);
  if (takesCallback) throw wrongPackage(isMariadb ? "mariadb/callback" : "mysql");
  return value;
}

function wrongPackage(name: string): TypeError {
  return new TypeError(
    `rows are not written through the package ${name}: it takes a pool or a connection of mysql2, or of mariadb (the one with promises)`,
  );
}

function isClient(value: unknown): value is GuardableMysqlClient {
  return hasMethods(value, ["query", "execute"]);
}

function sourceOf(pool: object): ConnectionSource {
  if (!hasMethods(pool, ["getConnection"])) throw wrongPackage("mysql");
  return {
    database: "mysql",
    async connect() {
      const client = await pool.getConnection();
      if (!isClient(client) || !hasMethods(client, ["release", "destroy"])) {
        throw new TypeError("the pool gave no connection of mysql2 or mariadb");
      }
      return connectionOn(client, client);
    },
  };
}

function connectionOn(
  client: GuardableMysqlClient,
  lent?: Methods<"release" | "destroy">,
): Connection {
  return new MysqlConnection({
    client,
    query: async (sql) => answerOf(await client.query({ ...EXACTLY, sql })),
    execute: async (sql, params) => {
      const values = [...params];
      return answerOf(await client.execute({ ...EXACTLY, sql, values }, values));
    },
    release: async () => void (await lent?.release()),
    destroy: () => void lent?.destroy(),
  });
}

/** Whatever the pool is set to. */
const EXACTLY = {
  rowsAsArray: false,
  nestTables: false,
  namedPlaceholders: false,
  metaAsArray: false,
  insertIdAsNumber: false,
  typeCast: (_field: unknown, next: () => unknown) => next(),
} as const;

/** mysql2 answers a pair, of rows or what was done, and of columns; mariadb the first of it alone. */
function answerOf(answer: unknown): unknown {
  if (!Array.isArray(answer)) return answer;
  const [first, columns] = answer;
  const isPair = answer.length === 2 && (columns === undefined || Array.isArray(columns));
  return isPair ? first : answer;
}
