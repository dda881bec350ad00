import mysql from "mysql2/promise";
import { DATABASE_PREFIX } from "./borrowed-postgres.ts";
import { type Server, type StartedServer, startMariadb, startMysql } from "./kept-server.ts";
import { wantsOwnMysql } from "./requirements.ts";

/** A server of the test matrix, and whether it is MySQL itself or MariaDB. */
export interface FoundMysql extends StartedServer {
  readonly kind: "mysql" | "mariadb";
}

/** The server at MYSQL_URL, else a MariaDB of our own, and a MySQL where INTRAY_MYSQL asks for it. */
export async function findMysql(
  run: string,
  wants: (kind: FoundMysql["kind"]) => boolean,
): Promise<readonly FoundMysql[]> {
  const url = process.env["MYSQL_URL"];
  if (url !== undefined && url !== "") return [await borrowMysql(url, run)];
  const ofKind = async (kind: FoundMysql["kind"], started: Promise<StartedServer>) => ({
    kind,
    ...(await started),
  });
  const own: Promise<FoundMysql>[] = [];
  if (wants("mariadb")) own.push(ofKind("mariadb", startMariadb()));
  if (wants("mysql") && wantsOwnMysql(process.env["INTRAY_MYSQL"])) {
    own.push(ofKind("mysql", startMysql()));
  }
  return await Promise.all(own);
}

/**
 * A server that is not ours and outlives the run. A lock named as the run is held all along: databases of a run
 * whose lock is free are leftovers of a run that was killed, and are dropped.
 */
async function borrowMysql(url: string, run: string): Promise<FoundMysql> {
  let connection: mysql.Connection;
  try {
    connection = await mysql.createConnection({ uri: url, connectTimeout: 5_000 });
  } catch (error) {
    const missing: Server = { missing: `MYSQL_URL does not answer: ${String(error)}` };
    return { kind: "mysql", server: missing, stop: () => Promise.resolve() };
  }
  const ask = async (text: string, values: readonly string[]): Promise<string[]> => {
    const [rows] = await connection.query<mysql.RowDataPacket[]>(text, [...values]);
    return rows.map((row) => String(Object.values(row)[0]));
  };
  const drop = async (names: readonly string[]) => {
    for (const name of names) await connection.query(`DROP DATABASE IF EXISTS \`${name}\``);
  };
  const databases = (prefix: string) =>
    ask(
      "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE LEFT(SCHEMA_NAME, CHAR_LENGTH(?)) = ?",
      [prefix, prefix],
    );
  await ask("SELECT GET_LOCK(?, 0)", [run]);
  for (const name of await databases(DATABASE_PREFIX)) {
    const [isFree] = await ask("SELECT IS_FREE_LOCK(?)", [name.slice(0, run.length)]);
    if (isFree === "1") await drop([name]);
  }
  const [version = ""] = await ask("SELECT VERSION()", []);
  return {
    kind: version.includes("MariaDB") ? "mariadb" : "mysql",
    server: { url },
    stop: async () => {
      await drop(await databases(run));
      await connection.end();
    },
  };
}
