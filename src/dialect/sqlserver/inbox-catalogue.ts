/**
 * What the database says of the table and of itself: its columns, whether the index for long aggregates is there,
 * what the server lacks. Catalogue views only, of the current database; they show what the login may see.
 */
import { type InboxSchema, inboxColumnKeys } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { inboxNames } from "./inbox-names.ts";
import { literal, lowestCompatibilityLevel } from "./sql.ts";

/**
 * Answers a row for each column of the schema: `role` (its key in the schema), `name`, `type`, and `present`; and
 * in each row `table_present`. No parameters.
 */
export function columnsStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const wanted = inboxColumnKeys
    .map((role) => `(${literal(role)}, ${literal(names.schema[role])})`)
    .join(", ");
  return {
    text: `SELECT wanted.[role], wanted.[name], TYPE_NAME(found.user_type_id) AS [type],
  CAST(CASE WHEN found.column_id IS NULL THEN 0 ELSE 1 END AS bit) AS [present],
  CAST(CASE WHEN inbox.[object_id] IS NULL THEN 0 ELSE 1 END AS bit) AS [table_present]
FROM (VALUES ${wanted}) AS wanted ([role], [name])
CROSS JOIN (SELECT ${names.objectId} AS [object_id]) AS inbox
LEFT JOIN sys.columns AS found ON found.object_id = inbox.[object_id] AND found.name = wanted.[name];`,
    params: [],
  };
}

/**
 * Answers one row, `by_aggregate`: there is an index that begins with source, aggregate id and scheduled time, over
 * all rows or over those that wait for a worker. Then `claimPastByAggregateStatement` is the one to run. No
 * parameters.
 */
export function indexesStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { consumption, state } = names.schema;
  const roles = ["source", "aggregateId", "scheduledAt", "createdAt", "id"] as const;
  const key = roles
    .map(
      (role, index) => `(k.key_ordinal = ${index + 1} AND c.name = ${literal(names.schema[role])})`,
    )
    .join(" OR ");
  const pull = `${consumption}='pull'`;
  const pending = `${state}='pending'`;
  // The predicate as the server prints it, less brackets and what makes a text nvarchar. One that is narrower
  // would leave rows out of the walk.
  const filter = `REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(x.filter_definition, N'(', N''), N')', N''), N'[', N''), N']', N''), N' ', N''), N'=N''', N'=''')`;
  return {
    text: `SELECT CAST(CASE WHEN EXISTS (
  SELECT 1
  FROM sys.indexes AS x
  WHERE x.object_id = ${names.objectId}
    AND x.type IN (1, 2) AND x.is_disabled = 0 AND x.is_hypothetical = 0
    AND (
      SELECT COUNT(*)
      FROM sys.index_columns AS k INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
      WHERE k.object_id = x.object_id AND k.index_id = x.index_id AND k.is_descending_key = 0
        AND (${key})
    ) = ${roles.length}
    AND (x.has_filter = 0 OR ${filter} IN (${literal(`${pull}AND${pending}`)}, ${literal(`${pending}AND${pull}`)}))
) THEN 1 ELSE 0 END AS bit) AS [by_aggregate];`,
    params: [],
  };
}

/**
 * Answers a row, `unmet`, for what the database would have to be and is not: OPENJSON, which takes lists apart, is
 * there from compatibility level 130 on, and without it the error is that there is no such object. Babelfish has
 * it, whatever level it calls its own. No parameters.
 */
export function requirementsStatement(): InboxStatement {
  return {
    text: `SELECT CONCAT(
  N'the database ', d.name, N' has the compatibility level ', d.compatibility_level, N'; it takes ${lowestCompatibilityLevel} or higher (SQL Server 2016): ALTER DATABASE ',
  QUOTENAME(d.name), N' SET COMPATIBILITY_LEVEL = ${lowestCompatibilityLevel}'
) AS [unmet]
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.compatibility_level < ${lowestCompatibilityLevel} AND SERVERPROPERTY(N'Babelfish') IS NULL;`,
    params: [],
  };
}

/**
 * Which settings end a transaction that takes or pauses too long: none here. A client's own timeout does, and
 * that is the driver's. No parameters.
 */
export function timeoutsStatement(): InboxStatement {
  return { text: "SELECT N'' AS [name], 0 AS [ms] WHERE 1 = 0;", params: [] };
}
