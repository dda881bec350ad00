import mysql from "mysql2/promise";
import { onTestFinished } from "vitest";
import { startMariadb } from "./kept-server.ts";

/**
 * A MariaDB of one file's own, for settings that the shared one cannot be given. Put its tests into
 * `describeOn("mariadb", ...)`.
 */
export async function startOwnMariadb(...options: readonly string[]): Promise<OwnMariadb> {
  const { server, stop } = await startMariadb(options);
  if ("missing" in server) {
    await stop();
    throw new Error(`MariaDB did not start: ${server.missing}`);
  }
  let made = 0;
  return {
    stop,
    async empty() {
      made += 1;
      await onUrl(server.url, `CREATE DATABASE app_${made} CHARACTER SET utf8mb4`);
      return `${server.url}app_${made}`;
    },
  };
}

export interface OwnMariadb {
  /** The address of a new database. */
  empty(): Promise<string>;
  stop(): Promise<void>;
}

/** An empty database on such a server, which ends with the test. */
export async function ownMariadb(...options: readonly string[]): Promise<string> {
  const server = await startOwnMariadb(...options);
  onTestFinished(() => server.stop());
  return await server.empty();
}

/** Runs statements on a connection of their own; answers the last one's rows. */
export async function onUrl(
  url: string,
  ...statements: readonly string[]
): Promise<readonly mysql.RowDataPacket[]> {
  const connection = await mysql.createConnection({ uri: url });
  connection.on("error", () => undefined);
  try {
    let last: unknown;
    for (const statement of statements) [last] = await connection.query(statement);
    return Array.isArray(last) ? last : [];
  } finally {
    await connection.end();
  }
}
