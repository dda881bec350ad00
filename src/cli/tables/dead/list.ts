import type { Command } from "commander";
import type { DeadLetterRow } from "../../../broker/dead-letters.ts";
import { sanitize } from "../../../redact.ts";
import { tableLabel } from "../../../table/description.ts";
import { helpEnd } from "../../help.ts";
import { parseCount, parseName } from "../../options/values.ts";
import { type Column, printJson, printLine, shortened, tableText } from "../../output.ts";
import { type DeadOptions, withRows } from "./open-rows.ts";
import { addRowOptions } from "./row-options.ts";

interface ListOptions extends DeadOptions {
  readonly limit: number;
  readonly after?: string;
}

export function addList(parent: Command): void {
  addRowOptions(parent.command("list").description("list dead letters, the highest id first"))
    .option("--limit <n>", "at most so many", parseCount(10_000), 50)
    .option("--after <id>", "go on behind this row, the last one of the page before", parseName)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      helpEnd([
        "intray dead list --table app.email_jobs --group emails-failed",
        "intray dead list --table app.failed_jobs --limit 10 --json",
      ]),
    )
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  await withRows(options, async ({ label, rows, table }) => {
    const { after, limit } = options;
    const found = await rows.list({ limit, ...(after !== undefined && { after }) });
    const next = found.length === limit ? (found.at(-1)?.id ?? null) : null;
    if (options.json === true) {
      const dead = found.map((row) => ({ ...row, reason: masked(row.reason) }));
      printJson({ table: tableLabel(table), dead, next });
    } else if (found.length === 0) {
      printLine(`no row waits in ${label}`);
    } else {
      printLine(tableText(COLUMNS, found));
      if (next !== null) printLine(`There may be more: --after ${next}`);
    }
  });
}

/** Masked again: others may write the column too. */
function masked(reason: string | null): string | null {
  return reason === null ? null : sanitize(reason);
}

const COLUMNS: readonly Column<DeadLetterRow>[] = [
  { title: "id", text: ({ id }) => id },
  { title: "group", text: ({ group }) => shortened(group ?? "-", 30) },
  { title: "attempt", text: ({ attempt }) => String(attempt ?? "-"), align: "right" },
  { title: "due", text: ({ due }) => due ?? "-" },
  { title: "reason", text: ({ reason }) => shortened(masked(reason) ?? "-", 50) },
  { title: "payload", text: ({ payload }) => shortened(payload ?? "-", 50) },
];
