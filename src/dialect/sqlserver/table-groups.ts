/** The groups of a fifo table that a claim tries, in the order of their heads. */
import type { ColumnDescription } from "../../table/description.ts";
import type { ClaimSettings } from "../dialect.ts";
import { all, type TableSql } from "./table-names.ts";
import { place, placeVariables, readFirst } from "./table-order.ts";
import { walkGroups } from "./table-walk.ts";
import { types, variableTypes } from "./types.ts";

/**
 * Fills `@queue (turn, value, named)`, and `@found` with how many there are. Declares `@value`, a group, `@id`, and
 * the variables of a place.
 *
 * All groups at once are a walk from group to group, one probe each. Where a collation takes two names for one, their
 * rows are one order here, and each head is claimed as the group that it names.
 */
export function findGroups(
  sql: TableSql,
  settings: ClaimSettings,
  group: ColumnDescription,
): string {
  const type = variableTypes[group.type];
  const variables = placeVariables(sql)
    .map((part) => `, @${part.name} ${part.type}`)
    .join("");
  const queue = `DECLARE @queue TABLE (turn int NOT NULL PRIMARY KEY, value ${type} NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @value ${type}, @found int, @id ${sql.idType}${variables};`;
  if (settings.groups === "one") {
    const value = sql.groupValue(group);
    return `${queue}
INSERT INTO @queue (turn, value, named)
SELECT 1, ${value}, ${types[group.type].read(value)} WHERE ${value} IS NOT NULL;
SET @found = (SELECT COUNT(*) FROM @queue);`;
  }
  return `${queue}
${readyHeads(sql, group, type)}
INSERT INTO @queue (turn, value, named)
SELECT ROW_NUMBER() OVER (ORDER BY ${place(sql, "head")}), head.value, head.named
FROM @head AS head;
SET @found = (SELECT COUNT(*) FROM @queue);`;
}

/** Fills `@head` with the heads that can be claimed, each with its place. */
function readyHeads(sql: TableSql, group: ColumnDescription, type: string): string {
  const placed = placeVariables(sql);
  const columns = placed.map((part) => `${part.name} ${part.type} NULL, `).join("");
  const names = placed.map(({ name }) => `${name}, `).join("");
  const values = placed.map(({ name }) => `@${name}, `).join("");
  const isReady = all(sql.due("h"), sql.free("h"));
  const wanted = [
    `@id = h.${sql.id}`,
    `@head_group = ${sql.of("group", "h")}`,
    `@head_named = ${sql.text(group, "h")}`,
    `@ready = CASE WHEN ${isReady} THEN 1 ELSE 0 END`,
    ...placed.map(({ name, of }) => `@${name} = ${of("h")}`),
  ];
  // Of a group by what the collation says: the walk knows no other.
  const head = readFirst(sql, [`${sql.of("group", "h")} = @value`, ...sql.open("h")], wanted);
  const each = `BEGIN TRY
${head}
IF @id IS NOT NULL AND @ready = 1
INSERT INTO @head (n, value, named, ${names}id) VALUES (@visited, @head_group, @head_named, ${values}@id);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
END CATCH;`;
  return `DECLARE @head TABLE (n int NOT NULL PRIMARY KEY, value ${type} NOT NULL, named nvarchar(4000) NOT NULL, ${columns}id ${sql.idType} NOT NULL);
DECLARE @head_group ${type}, @head_named nvarchar(4000), @ready int;
${walkGroups(sql, group, each)}`;
}
