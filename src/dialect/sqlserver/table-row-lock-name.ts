import { lockName } from "./lock-name.ts";
import type { TableSql } from "./table-names.ts";

/** The name of the application lock of a row, by its id as text. */
export function rowLockName(sql: TableSql, id: string): string {
  return lockName(`${sql.lockPrefix} + N'row ' + ${id}`);
}
