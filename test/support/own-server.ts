import mysql from "mysql2/promise";
import { describe } from "vitest";
import { isMissing } from "./databases.ts";
import { type StartedServer, startMariadb, startMysql } from "./kept-server.ts";
import { chosenDatabases, wantsOwnMysql } from "./requirements.ts";

/**
 * The same tests on a MariaDB of their own, and on such a MySQL where the run brings one along: for settings that the
 * shared ones cannot be given. `start` takes the server's options.
 */
export function forEachOwnServer(title: string, define: (start: StartOwn) => void): void {
  const chosen = chosenDatabases(process.env["INTRAY_ONLY"]);
  const brings = wantsOwnMysql(process.env["INTRAY_MYSQL"]);
  describe(title, () => {
    for (const { name, kind, isHere, start } of [
      { name: "MariaDB", kind: "mariadb", isHere: true, start: startMariadb },
      { name: "MySQL", kind: "mysql", isHere: brings, start: startMysql },
    ] as const) {
      const isOut = !isHere || !chosen.has(kind) || isMissing(kind);
      describe.skipIf(isOut)(name, () => define((...options) => startOwn(start(options))));
    }
  });
}

export type StartOwn = (...options: readonly string[]) => Promise<OwnServer>;

async function startOwn(started: Promise<StartedServer>): Promise<OwnServer> {
  const { server, stop } = await started;
  if ("missing" in server) {
    await stop();
    throw new Error(`the server did not start: ${server.missing}`);
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

export interface OwnServer {
  /** The address of a new database. */
  empty(): Promise<string>;
  stop(): Promise<void>;
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
