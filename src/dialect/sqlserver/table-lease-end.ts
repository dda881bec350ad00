import type { LeaseSettings } from "../dialect.ts";
import type { TableSql } from "./table-names.ts";

/**
 * The lease's new end. The column rounds what it cannot hold to the nearest, so half a unit (less 100 ns) is
 * added: rounded up, a lease is never shorter than it was asked for. What is stored the claim answers.
 *
 * Without an attempt, the end alone tells two claims of a row apart. The server's clock may give the same time
 * twice, and one that a service sets may stand still: such ends get some hundred nanoseconds at random.
 */
export function leaseEnd(
  sql: TableSql,
  { leasePrecision = 7 }: Pick<LeaseSettings, "leasePrecision">,
): string {
  const end = sql.later(`CAST(${sql.param("leaseMs")} AS bigint)`);
  const ticks = 10 ** (7 - leasePrecision);
  if (ticks > 1) return `DATEADD(nanosecond, ${100 * (ticks / 2 - 1)}, ${end})`;
  if (sql.table.roles.attempt !== undefined) return end;
  return `DATEADD(nanosecond, 100 * (CHECKSUM(NEWID()) & 8191), ${end})`;
}
