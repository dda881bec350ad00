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
  return sql.variable("until", "datetime2(7)", rounded(sql, end, 10 ** (7 - leasePrecision)));
}

/** `ticks`: how many of 100 ns are the column's unit. */
function rounded({ table }: TableSql, end: string, ticks: number): string {
  if (ticks > 1) return `DATEADD(nanosecond, ${100 * (ticks / 2 - 1)}, ${end})`;
  if (table.roles.attempt !== undefined) return end;
  return `DATEADD(nanosecond, 100 * (CHECKSUM(NEWID()) & 8191), ${end})`;
}
