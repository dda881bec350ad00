import type { LeaseSettings } from "../dialect.ts";
import type { TableSql } from "./table-names.ts";

/**
 * The lease's new end, with no more digits than the column holds: what it cannot hold MySQL rounds and MariaDB
 * cuts off, and the end that proves the claim must be the one that is stored. Rounded up, a lease is never
 * shorter than it was asked for.
 *
 * Without an attempt, the end alone tells two claims of a row apart. The database's clock never gives the
 * same twice; a clock that a service sets may stand still, and so its ends get some microseconds at random.
 */
export function leaseEnd(
  sql: TableSql,
  { leasePrecision = 6 }: Pick<LeaseSettings, "leasePrecision">,
): string {
  const end = sql.later(`CAST(${sql.param("leaseMs")} AS DECIMAL(30, 3))`);
  const unit = 10 ** (6 - leasePrecision);
  if (unit > 1) {
    const upper = `${end} + INTERVAL ${unit - 1} MICROSECOND`;
    return `(${upper} - INTERVAL (MICROSECOND(${upper}) % ${unit}) MICROSECOND)`;
  }
  const isAlone = sql.table.roles.attempt === undefined && sql.table.clock !== "database";
  return isAlone ? `(${end} + INTERVAL FLOOR(RAND() * 1000) MICROSECOND)` : end;
}
