import type { Command } from "commander";
import { sanitize } from "../../../redact.ts";
import { ask } from "../../database/ask.ts";
import { helpEnd } from "../../help.ts";
import { databaseOption } from "../../options/database-option.ts";
import { schemaOption } from "../../options/schema-option.ts";
import { parseCount, parseId, parseName } from "../../options/values.ts";
import { type Column, printJson, printLine, shortened, tableText } from "../../output.ts";
import { type InboxOptions, withInbox } from "../open-inbox.ts";
import { type DeadRow, deadJson } from "./dead-row.ts";

interface ListOptions extends InboxOptions {
  readonly source?: string;
  readonly limit: number;
  readonly after?: readonly string[];
}

export function addList(parent: Command): void {
  parent
    .command("list")
    .description("list dead messages, the newest first")
    .addOption(databaseOption)
    .option("--source <name>", "of this source alone", parseName)
    .option("--limit <n>", "at most so many", parseCount(10_000), 50)
    .option("--after <id>", "go on behind this message, the last one of the page before", parseId)
    .addOption(schemaOption)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      helpEnd([
        "intray queuebox dead list",
        "intray queuebox dead list --source orders --limit 10 --json",
      ]),
    )
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  await withInbox(options, async ({ admin, database, schema }) => {
    const { source = null, limit, after = [] } = options;
    const values = { source, after: after.at(-1) ?? null, limit };
    const { rows } = await ask<DeadRow>(database.source, admin.list(schema), values);
    const next = rows.length === limit ? (rows.at(-1)?.id ?? null) : null;
    if (options.json === true) {
      printJson({ table: schema.table, dead: rows.map(deadJson), next });
    } else if (rows.length === 0) {
      printLine(source === null ? "no dead message" : `no dead message of source ${source}`);
    } else {
      printLine(tableText(COLUMNS, rows));
      if (next !== null) printLine(`There may be more: --after ${next}`);
    }
  });
}

const COLUMNS: readonly Column<DeadRow>[] = [
  { title: "id", text: ({ id }) => id },
  { title: "source", text: ({ source }) => source },
  { title: "key", text: (row) => shortened(row.idempotency_key, 40) },
  { title: "aggregate", text: (row) => shortened(row.aggregate_id ?? "-", 30) },
  { title: "attempt", text: ({ attempt }) => String(attempt), align: "right" },
  { title: "last error", text: (row) => shortened(sanitize(row.last_error ?? "-"), 60) },
];
