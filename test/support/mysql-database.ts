import mysql from "mysql2/promise";
import { inject } from "vitest";
import { describeOn, type TestDatabase } from "./databases.ts";
import type { DatabaseName } from "./requirements.ts";
import { until } from "./until.ts";

/** The same tests on MariaDB and on MySQL itself; `create` makes a database there. */
export function describeOnMysql(
  title: string,
  define: (create: () => Promise<TestDatabase>) => void,
): void {
  for (const server of ["mariadb", "mysql"] as const) {
    const words = server === "mysql" ? `${title}, on MySQL itself` : title;
    describeOn(server, words, () => define(() => createMysqlDatabase(server)));
  }
}

/** An empty database of the test's own, on MySQL or MariaDB. Drop it when the test ends. */
export async function createMysqlDatabase(on: DatabaseName): Promise<TestDatabase> {
  const server = inject("databases")[on];
  if ("missing" in server) throw new Error(`${on} is missing: ${server.missing}`);
  const name = `${inject("run")}_${process.pid}_${++made}`;
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  await onServer(server.url, (connection) =>
    connection.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`),
  );
  let checks: mysql.Pool | undefined;
  const own = new Set<number>();
  const ownPool = () => {
    const pool = mysql.createPool({
      uri: url.href,
      connectionLimit: 3,
      multipleStatements: true,
      supportBigNumbers: true,
      timezone: "Z",
    });
    pool.on("connection", ({ threadId }) => void own.add(threadId));
    return pool;
  };
  return {
    url: url.href,
    async query<Row>(text: string, params: readonly unknown[] = []) {
      checks ??= ownPool();
      const [answer] = await checks.query({ sql: text, values: [...params] });
      const last: unknown =
        Array.isArray(answer) && Array.isArray(answer.at(-1)) ? answer.at(-1) : answer;
      // What the rows hold is the test's word.
      if (Array.isArray(last)) return { rows: last as Row[], rowCount: last.length };
      return { rows: [], rowCount: "affectedRows" in answer ? answer.affectedRows : 0 };
    },
    async endSessions(which = "all") {
      const wanted =
        which === "all"
          ? "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = ?"
          : which === "in transactions"
            ? `SELECT trx_mysql_thread_id AS id FROM information_schema.INNODB_TRX
               WHERE trx_mysql_thread_id IN (SELECT ID FROM information_schema.PROCESSLIST WHERE DB = ?)`
            : `SELECT IS_USED_LOCK(CONCAT(?, '.', '${which.holding}')) AS id`;
      await onServer(server.url, async (connection) => {
        const ask = async () => {
          const [rows] = await connection.query<mysql.RowDataPacket[]>(wanted, [name]);
          return rows.map(({ id }) => Number(id)).filter((id) => id > 0 && !own.has(id));
        };
        // The server tells of transactions from memory unless it was not asked for a tenth of a second.
        const interval = which === "in transactions" ? 130 : 10;
        const ids =
          which === "all" ? await ask() : await until(async () => found(await ask()), { interval });
        for (const id of ids) await connection.query(`KILL ${id}`).catch(() => undefined);
        await until(async () => !(await ask()).some((id) => ids.includes(id)), { interval });
      });
    },
    async drop() {
      await checks?.end();
      await onServer(server.url, async (connection) => {
        const [rows] = await connection.query<mysql.RowDataPacket[]>(
          "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = ?",
          [name],
        );
        for (const { id } of rows) await connection.query(`KILL ${id}`).catch(() => undefined);
        await connection.query(`DROP DATABASE ${name}`);
      });
    },
  };
}

let made = 0;

function found(ids: readonly number[]): readonly number[] | undefined {
  return ids.length > 0 ? ids : undefined;
}

async function onServer<T>(
  url: string,
  use: (connection: mysql.Connection) => Promise<T>,
): Promise<T> {
  const connection = await mysql.createConnection({ uri: url });
  connection.on("error", () => undefined);
  try {
    return await use(connection);
  } finally {
    await connection.end();
  }
}
