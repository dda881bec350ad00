import type { Command } from "commander";
import { type TableDescription, tableLabel } from "../../../table/description.ts";
import { UsageError } from "../../cli-error.ts";
import { helpEnd } from "../../help.ts";
import { parseName } from "../../options/values.ts";
import { printJson, printLine } from "../../output.ts";
import { rowsAt } from "../see-table.ts";
import {
  checkGroup,
  type DeadOptions,
  missingOf,
  notFound,
  type SelectionOptions,
  selectionOf,
  withRows,
} from "./open-rows.ts";
import { addRowOptions, parseProperty, parseRowId } from "./row-options.ts";

interface RetryOptions extends DeadOptions, SelectionOptions {
  readonly to?: string;
  readonly toTable?: string;
  readonly leaveBehind?: readonly string[];
}

export function addRetry(parent: Command): void {
  addRowOptions(
    parent.command("retry").description("move dead letters back to a queue, to be worked again"),
  )
    .option("--to <group>", "the group that they go to")
    .option("--to-table <name>", "the table that they go to; left out: their own", parseName)
    .option("--id <id>", "this row; may be given again for more", parseRowId)
    .option("--all", "all of the group, or of the table")
    .option(
      "--leave-behind <property>",
      "this column may be lost in the other table; may be given again",
      parseProperty,
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      helpEnd(
        [
          "intray dead retry --table app.email_jobs --group emails-failed --to emails --id 42",
          "intray dead retry --table app.failed_jobs --to-table app.email_jobs --to emails --all",
        ],
        [
          "The attempt starts anew, the rows are due at once, and no lease holds them. A reason, and what the",
          "database fills, is left behind where the other table has no column for it, and that is said.",
        ].join("\n"),
      ),
    )
    .action(retry);
}

async function retry(options: RetryOptions): Promise<void> {
  const selection = selectionOf("dead retry", options);
  const { to, toTable } = options;
  if (to === undefined && toTable === undefined) {
    throw new UsageError("dead retry takes --to <group>, --to-table <table>, or both");
  }
  await withRows(options, async ({ group, label, other, rows, table }) => {
    checkGroup("dead retry", selection, { group, table });
    const destination = other(toTable);
    const where = tableLabel(destination);
    if (destination.roles.group !== undefined && to === undefined) {
      throw new UsageError(`dead retry: ${where} has groups: say which one with --to`);
    }
    if (where === tableLabel(table) && (group === undefined || group === to)) {
      throw new UsageError(
        `dead retry within ${where} takes two groups: --group, where the rows are, and --to`,
      );
    }
    const { ids, leftBehind } = await rows.retry({
      ...selection,
      to: rowsAt(destination, to),
      ...(options.leaveBehind !== undefined && { leaveBehind: options.leaveBehind }),
    });
    const missing = missingOf(selection, ids);
    if (options.json === true) {
      printJson({
        retried: ids.length,
        ids,
        missing,
        to: { table: where, group: to ?? null },
        attempt: destination.roles.attempt === undefined ? null : destination.attemptFrom,
        leftBehind,
      });
    } else {
      const what = ids.length === 1 ? "1 row is" : `${ids.length} rows are`;
      printLine(
        `${what} in ${where}${to === undefined ? "" : `, group ${to}`}: ${anew(destination)}`,
      );
      if (leftBehind.length > 0) printLine(`left behind: ${leftBehind.join(", ")}`);
    }
    if (missing.length > 0) throw notFound(label, missing);
  });
}

/** What has started anew. */
function anew({ attemptFrom, roles }: TableDescription): string {
  const attempt = roles.attempt === undefined ? [] : [`attempt ${attemptFrom}`];
  return [...attempt, "due now"].join(", ");
}
