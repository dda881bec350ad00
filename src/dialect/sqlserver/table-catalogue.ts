/** What the database says of a described table, and of itself. */
import type { TableDescription } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { literal, lowestCompatibilityLevel } from "./sql.ts";
import { tableName } from "./table-names.ts";

/**
 * A row a column: `name`, `type` as CREATE TABLE writes it, `nullable`, `generated` (never, byDefault, always),
 * `precision` of a time, and `fault`. No rows: there is no such table.
 */
export function columnsStatement(table: TableDescription): Statement {
  return {
    text: `SELECT
  c.name AS name,
  CASE
    WHEN ty.name IN (N'nvarchar', N'nchar') THEN CONCAT(ty.name, N'(', CASE WHEN c.max_length = -1 THEN N'max' ELSE CONVERT(nvarchar(10), c.max_length / 2) END, N')')
    WHEN ty.name IN (N'varchar', N'char', N'varbinary', N'binary') THEN CONCAT(ty.name, N'(', CASE WHEN c.max_length = -1 THEN N'max' ELSE CONVERT(nvarchar(10), c.max_length) END, N')')
    WHEN ty.name IN (N'decimal', N'numeric') THEN CONCAT(ty.name, N'(', c.[precision], N', ', c.[scale], N')')
    WHEN ty.name IN (N'datetime2', N'datetimeoffset', N'time') THEN CONCAT(ty.name, N'(', c.[scale], N')')
    ELSE COALESCE(ty.name, TYPE_NAME(c.user_type_id))
  END AS type,
  CASE WHEN c.is_nullable = 1 THEN 1 ELSE 0 END AS nullable,
  CASE
    WHEN c.is_computed = 1 OR c.generated_always_type <> 0 OR ty.name = N'timestamp' THEN N'always'
    WHEN c.is_identity = 1 OR c.default_object_id <> 0 THEN N'byDefault'
    ELSE N'never'
  END AS [generated],
  CASE
    WHEN ty.name IN (N'datetime2', N'datetimeoffset') THEN CONVERT(int, c.[scale])
    WHEN ty.name = N'datetime' THEN 2
    WHEN ty.name IN (N'smalldatetime', N'date') THEN 0
  END AS [precision],
  ${faults(table)} AS fault
FROM sys.columns AS c
LEFT JOIN sys.types AS ty ON ty.user_type_id = c.system_type_id
WHERE c.object_id = OBJECT_ID(${literal(tableName(table))})
ORDER BY c.column_id`,
    params: [],
  };
}

/**
 * - A lease's end must be the one that was written, and a DATETIME is a third of a hundredth of a second by itself
 *   and something else when it is compared.
 * - Ids and groups come as Unicode text; beside a column of a code page in one of the older collations the
 *   server converts the column, finds nothing in an index, and waits for every row that it passes.
 */
function faults({ roles }: TableDescription): string {
  const { group, id, lockedUntil } = roles;
  const cases: string[] = [];
  if (lockedUntil !== undefined) {
    cases.push(
      `WHEN c.name = ${literal(lockedUntil.name)} AND ty.name NOT IN (N'datetime2', N'datetimeoffset') THEN CONCAT(N'is a ', ty.name, N', which does not hold a lease''s end exactly: let it be a datetime2(7)')`,
    );
  }
  const keys = [id, group].filter((column) => column?.type === "text");
  if (keys.length > 0) {
    const names = keys.map((column) => literal(column?.name ?? "")).join(", ");
    cases.push(
      `WHEN c.name IN (${names}) AND ty.name IN (N'varchar', N'char') AND c.collation_name LIKE N'SQL[_]%' THEN CONCAT(N'is a ', ty.name, N' of the collation ', c.collation_name, N', in which no index finds Unicode text: let it be an nvarchar')`,
    );
  }
  return cases.length === 0
    ? "CAST(NULL AS nvarchar(400))"
    : `CASE\n    ${cases.join("\n    ")}\n  END`;
}

/** A server that takes T-SQL on top of PostgreSQL, and says that it is a SQL Server of 2014. */
const IS_BABELFISH = "CONVERT(int, SERVERPROPERTY('Babelfish')) = 1";

/**
 * 1 is new enough, 0 is not. The database goes by its name: on Azure its number in the catalogue is another. Azure's editions (database, managed instance, Fabric) say of themselves that they
 * are version 12, and are always the newest.
 */
export const versionStatement: Statement = {
  text: `SELECT CASE
  WHEN ${IS_BABELFISH} THEN 1
  WHEN d.compatibility_level < ${lowestCompatibilityLevel} THEN 0
  WHEN CONVERT(int, SERVERPROPERTY('EngineEdition')) IN (5, 8, 12) THEN 1
  WHEN CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) >= 13 THEN 1
  ELSE 0
END AS version,
CONCAT(N'SQL Server ', CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), N', the database at compatibility level ', d.compatibility_level) AS label
FROM sys.databases AS d
WHERE d.name = DB_NAME()`,
  params: [],
};

export const oldestVersion: { readonly version: number; readonly label: string } = {
  version: 1,
  label: `SQL Server 2016 (13) and compatibility level ${lowestCompatibilityLevel}`,
};

/** A transaction of the library's opens at this level where its table names none: see transactions.ts. */
export const isolationStatement: Statement = {
  text: "SELECT N'readCommitted' AS level",
  params: [],
};

export const sessionStatement: Statement = {
  text: "SELECT CONVERT(varchar(20), @@SPID) AS session",
  params: [],
};

/** No setting of the server ends a transaction that idles. */
export const timeoutsStatement: Statement = {
  text: "SELECT N'' AS name, 0 AS ms WHERE 1 = 0",
  params: [],
};
