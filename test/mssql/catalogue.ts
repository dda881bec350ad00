import type { TableDescription } from "../../src/table/description.ts";
import type { Reply, Said } from "./tds-server.ts";

/** What a server that has the table answers a start, beside what it is asked of the statements. */
export function catalogueOf(table: TableDescription) {
  return ({ text }: Said): Reply | undefined => {
    if (text.includes("sys.databases")) {
      return [{ columns: { version: "int", label: "nvarchar" }, rows: [[1, "SQL Server 16"]] }];
    }
    if (text.includes("FROM sys.columns")) {
      return [
        {
          columns: {
            name: "nvarchar",
            type: "nvarchar",
            nullable: "int",
            generated: "nvarchar",
            precision: "int",
            fault: "nvarchar",
          },
          rows: table.columns.map(({ generated, name, nullable, type }) => [
            name,
            TYPES[type],
            nullable ? 1 : 0,
            generated,
            7,
            null,
          ]),
        },
      ];
    }
    if (text.includes("AS level")) {
      return [{ columns: { level: "nvarchar" }, rows: [["readCommitted"]] }];
    }
    if (text.includes("AS present")) return [{ columns: { present: "int" }, rows: [[1]] }];
    if (text.includes("AS ms")) return [{ columns: { name: "nvarchar", ms: "int" }, rows: [] }];
    return undefined;
  };
}

/** Types as the catalogue tells them. */
const TYPES: Readonly<Record<string, string>> = {
  bigint: "bigint",
  integer: "int",
  text: "nvarchar(450)",
  timestamp: "datetime2(7)",
  json: "nvarchar(max)",
};

/** Whether the server is asked what it makes of a statement. */
export function isDescription({ text }: Said): boolean {
  return text.startsWith("EXEC sys.sp_describe_first_result_set ");
}
