import type { Command } from "commander";
import { reasonColumn } from "../../../broker/dead-letter.ts";
import { sanitize } from "../../../redact.ts";
import { type TableDescription, tableLabel } from "../../../table/description.ts";
import { UsageError } from "../../cli-error.ts";
import { helpEnd } from "../../help.ts";
import { type Json, jsonText, rawJson } from "../../json-text.ts";
import { printable, printJson, printLine } from "../../output.ts";
import { type DeadOptions, notFound, withRows } from "./open-rows.ts";
import { addRowOptions, parseRowId } from "./row-options.ts";

interface ShowOptions extends DeadOptions {
  readonly id?: readonly string[];
}

export function addShow(parent: Command): void {
  addRowOptions(
    parent
      .command("show")
      .description("show one dead letter with all its columns")
      .argument("[id]", "the row's id, as `dead list` prints it", parseRowId)
      .option("--id <id>", "the same as an option", parseRowId),
  )
    .option("--json", "print JSON; JSON columns and payloads as they are stored")
    .addHelpText(
      "after",
      helpEnd([
        "intray dead show 42 --table app.email_jobs --group emails-failed",
        "intray dead show 42 --table app.failed_jobs --json",
      ]),
    )
    .action(show);
}

async function show(argument: readonly string[] | undefined, options: ShowOptions): Promise<void> {
  const [id, ...others] = [...(argument ?? []), ...(options.id ?? [])];
  if (id === undefined || others.length > 0) {
    throw new UsageError("dead show takes the id of one row");
  }
  await withRows(options, async ({ label, rows, table }) => {
    const row = await rows.show(id);
    if (row === undefined) throw notFound(label, [id]);
    const columns = columnsJson(table, row.columns);
    if (options.json === true) printJson({ table: tableLabel(table), id: row.id, columns });
    else for (const line of lines(columns)) printLine(line);
  });
}

/** Numbers stay text, all their digits; JSON goes out as it is stored. */
function columnsJson(
  table: TableDescription,
  values: { readonly [property: string]: string | null },
): { readonly [property: string]: Json } {
  const reason = reasonColumn(table);
  const columns = table.columns.map((column) => {
    const { property, role, type } = column;
    const value = values[property] ?? null;
    if (value === null) return [property, null] as const;
    if (column === reason) return [property, sanitize(value)] as const;
    const isJson = type === "json" || role === "payload";
    return [property, isJson ? rawJson(value) : value] as const;
  });
  return Object.fromEntries(columns);
}

function lines(columns: { readonly [property: string]: Json }): string[] {
  const width = Math.max(...Object.keys(columns).map((name) => name.length));
  return Object.entries(columns).map(([name, value]) => {
    const text = typeof value === "string" ? value : jsonText(value);
    return `${name.padEnd(width)}  ${printable(value === null ? "-" : text)}`;
  });
}
