import mysql from "mysql2/promise";
import { onTestFinished } from "vitest";
import { startMariadb } from "./kept-server.ts";

/**
 * An empty database `app` on a MariaDB of the test's own, for settings that the shared one cannot be given. It ends
 * with the test. Put such tests into `describeOn("mariadb", ...)`.
 */
export async function ownMariadb(...options: readonly string[]): Promise<string> {
  const { server, stop } = await startMariadb(options);
  onTestFinished(stop);
  if ("missing" in server) throw new Error(`MariaDB did not start: ${server.missing}`);
  await onUrl(server.url, "CREATE DATABASE app CHARACTER SET utf8mb4");
  return `${server.url}app`;
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
