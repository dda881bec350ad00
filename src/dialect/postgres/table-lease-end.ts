import type { LeaseSettings } from "../dialect.ts";
import { milliseconds } from "./sql.ts";
import type { TableSql } from "./table-names.ts";

/**
 * The lease's new end. The column rounds what it cannot hold to the nearest, so half a unit (less a
 * microsecond) is added: rounded up, a lease is never shorter than it was asked for.
 *
 * Without an attempt, the end alone tells two claims of a row apart. The database's clock never gives the
 * same twice; a clock that a service sets may stand still, and so its ends get some microseconds at random.
 */
export function leaseEnd(
  sql: TableSql,
  { leasePrecision = 6 }: Pick<LeaseSettings, "leasePrecision">,
  now: string = sql.now,
): string {
  const end = `${now} + ${milliseconds(sql.param("leaseMs"))}`;
  const unit = 10 ** (6 - leasePrecision);
  if (unit > 1) return `${end} + interval '${unit / 2 - 1} microseconds'`;
  const isAlone = sql.table.roles.attempt === undefined && sql.table.clock !== "database";
  return isAlone ? `${end} + floor(random() * 1000) * interval '1 microsecond'` : end;
}
