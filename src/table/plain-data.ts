import type { ColumnDescription, CustomEventName, TableDescription } from "./description.ts";

/** A description as JSON can hold it. */
export interface TableData
  extends Omit<TableDescription, "columns" | "roles" | "lockKey" | "clock" | "custom" | "message"> {
  readonly columns: readonly ColumnData[];
  /** The key of the advisory lock form, its placeholders as properties. */
  readonly advisoryLock?: string;
  readonly clock: "database" | "system" | "function";
  /** The service's own events; where each database has its own function, the databases. */
  readonly custom?: { readonly [event in CustomEventName]?: true | readonly string[] };
  /** The columns of a headers layout's message. */
  readonly message?: readonly ColumnData[];
}

export type ColumnData = Omit<ColumnDescription, "codec">;

/** The description without functions. */
export function plainData(table: TableDescription): TableData {
  const { columns, roles: _, lockKey, clock, custom, message, ...rest } = table;
  const advisoryLock = lockKey
    ?.map((part) => ("text" in part ? part.text : `{${part.column.property}}`))
    .join("");
  return {
    ...rest,
    columns: columns.map(columnData),
    ...(advisoryLock !== undefined && { advisoryLock }),
    clock: typeof clock === "function" ? "function" : clock,
    ...(custom !== undefined && {
      custom: Object.fromEntries(
        Object.entries(custom).map(([event, value]) => [
          event,
          typeof value === "function" ? true : Object.keys(value ?? {}),
        ]),
      ),
    }),
    ...(message !== undefined && { message: message.columns.map(columnData) }),
  };
}

function columnData({ codec: _, ...column }: ColumnDescription): ColumnData {
  return column;
}
