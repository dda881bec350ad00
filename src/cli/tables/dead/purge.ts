import type { Command } from "commander";
import { helpEnd } from "../../help.ts";
import { printJson, printLine } from "../../output.ts";
import { askFirst } from "../purge.ts";
import {
  checkGroup,
  type DeadOptions,
  missingOf,
  notFound,
  type SelectionOptions,
  selectionOf,
  withRows,
} from "./open-rows.ts";
import { addRowOptions, parseRowId } from "./row-options.ts";

interface PurgeOptions extends DeadOptions, SelectionOptions {
  readonly yes?: boolean;
}

export function addPurge(parent: Command): void {
  addRowOptions(parent.command("purge").description("delete dead letters for good"))
    .option("--id <id>", "this row; may be given again for more", parseRowId)
    .option("--all", "all of the group, or of the table")
    .option("-y, --yes", "do not ask; needed where nobody can be asked")
    .option("--json", "print JSON; takes --yes")
    .addHelpText(
      "after",
      helpEnd(
        [
          "intray dead purge --table app.email_jobs --group emails-failed --all --yes",
          "intray dead purge --table app.failed_jobs --id 42 --yes",
        ],
        "A table keeps no time of death: processed rows go by their age with `intray purge`.",
      ),
    )
    .action(purge);
}

async function purge(options: PurgeOptions): Promise<void> {
  const selection = selectionOf("dead purge", options);
  await withRows(options, async ({ group, label, rows, table }) => {
    checkGroup("dead purge", selection, { group, table });
    const what = "ids" in selection ? `${selection.ids.length} rows of` : "all rows of";
    await askFirst("dead purge", options, `Delete ${what} ${label} for good?`);
    const ids = await rows.purge(selection);
    const missing = missingOf(selection, ids);
    if (options.json === true) printJson({ purged: ids.length, ids, missing });
    else printLine(`${ids.length} ${ids.length === 1 ? "row" : "rows"} of ${label} deleted`);
    if (missing.length > 0) throw notFound(label, missing);
  });
}
