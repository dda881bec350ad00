import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { fromBetterSqlite3, type SqliteOwnedSource } from "../../src/driver/better-sqlite3.ts";
import type { ConnectionSource } from "../../src/driver/connection.ts";

/** An empty database in memory, with its one connection. */
export async function emptySqlite(): Promise<ConnectionSource> {
  return fromBetterSqlite3(new Database(":memory:"));
}

/** A database file of the test's own. */
export async function sqliteFile(): Promise<{
  readonly path: string;
  open(max: number): SqliteOwnedSource;
  remove(): void;
}> {
  const folder = mkdtempSync(join(tmpdir(), "intray-sqlite-"));
  const path = join(folder, "test.db");
  const opened: SqliteOwnedSource[] = [];
  return {
    path,
    open(max) {
      const source = fromBetterSqlite3(() => new Database(path), { max });
      opened.push(source);
      return source;
    },
    remove() {
      for (const source of opened) source.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
