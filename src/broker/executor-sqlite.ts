/** Writing through a database of better-sqlite3, libsql, node:sqlite or bun:sqlite. */
import type { QueryResult, StatementStep } from "../driver/connection.ts";
import {
  handleOf,
  type SqliteDatabaseLike,
  type SqliteHandle,
  sqliteValue,
} from "../driver/sqlite-handle.ts";
import { sharedBy } from "../driver/sqlite-sharing.ts";
import { hasMethods } from "../options.ts";
import type { Executor } from "./executor.ts";

/**
 * It writes at once, before it answers its promise: so nothing else of the process comes in between, and the
 * rows belong to whatever transaction the service has open. Only where a source has lent the database to
 * somebody does it wait: that one's transaction is not the caller's.
 */
export function sqliteExecutorOf(value: unknown): Executor | undefined {
  if (!isDatabase(value)) return undefined;
  return {
    database: "sqlite",
    runsPrograms: true,
    async run(steps) {
      const lock = sharedBy.get(value)?.lock;
      if (lock === undefined || lock.isFree) return runAll(handleBy(value), steps);
      const giveBack = await lock.acquire();
      try {
        return runAll(handleBy(value), steps);
      } finally {
        giveBack();
      }
    },
  };
}

function isDatabase(value: unknown): value is SqliteDatabaseLike & object {
  return hasMethods(value, ["prepare", "exec", "close"]);
}

const handles = new WeakMap<object, SqliteHandle>();

function handleBy(db: SqliteDatabaseLike & object): SqliteHandle {
  // Those that have `pragma` take lists.
  const handle = handles.get(db) ?? handleOf(db, hasMethods(db, ["pragma"]));
  handles.set(db, handle);
  return handle;
}

function runAll(handle: SqliteHandle, steps: readonly StatementStep[]): QueryResult[] {
  if (steps.length <= 1) return steps.map((step) => runStep(handle, step));
  // A transaction of its own, or a part of the one that is open.
  handle.run("SAVEPOINT intray_insert", []);
  try {
    const results = steps.map((step) => runStep(handle, step));
    handle.run("RELEASE intray_insert", []);
    return results;
  } catch (error) {
    undo(handle);
    throw error;
  }
}

function runStep(handle: SqliteHandle, { params = [], text }: StatementStep): QueryResult {
  const values = params.map((value, index) => sqliteValue(value, index + 1));
  const { changes, rows } = handle.run(text, values);
  return { rows: [...rows], rowCount: changes };
}

function undo(handle: SqliteHandle): void {
  try {
    handle.run("ROLLBACK TO intray_insert", []);
    handle.run("RELEASE intray_insert", []);
  } catch {
    // The error has ended the whole transaction already.
  }
}
