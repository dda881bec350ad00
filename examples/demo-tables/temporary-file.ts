import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectionSource } from "intray";
import { fromBetterSqlite3 } from "intray/better-sqlite3";
import Database from "libsql";

export interface TemporaryFile {
  readonly path: string;
  readonly source: ConnectionSource<"sqlite">;
  /** Closes the connections; nothing is left of the file. */
  remove(): void;
}

/** A SQLite file in a folder of its own, since SQLite puts two more beside it. */
export function openTemporaryFile(name: string): TemporaryFile {
  const folder = mkdtempSync(join(tmpdir(), "intray-demo-tables-"));
  const path = join(folder, name);
  const source = fromBetterSqlite3(() => new Database(path), { max: 4 });
  return {
    path,
    source,
    remove() {
      source.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
