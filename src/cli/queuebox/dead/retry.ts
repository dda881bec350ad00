import type { Command } from "commander";
import { deadLetterChunk } from "../../../dialect/inbox-administration.ts";
import { CliError, UsageError } from "../../cli-error.ts";
import { ask } from "../../database/ask.ts";
import { helpEnd } from "../../help.ts";
import { databaseOption } from "../../options/database-option.ts";
import { schemaOption } from "../../options/schema-option.ts";
import { parseCount, parseId, parseName } from "../../options/values.ts";
import { printJson, printLine } from "../../output.ts";
import { type InboxOptions, type OpenInbox, withInbox } from "../open-inbox.ts";
import { readStatus } from "../source-status.ts";
import { type Selection, type SelectionOptions, selectionOf } from "./selection.ts";

interface RetryOptions extends InboxOptions, SelectionOptions {
  readonly limit?: number;
}

export function addRetry(parent: Command): void {
  parent
    .command("retry")
    .description("run dead messages again: pending, due now, attempt 0")
    .addOption(databaseOption)
    .option("--id <id>", "this message; may be given again for more", parseId)
    .option("--source <name>", "all of this source", parseName)
    .option("--all", "all of all sources")
    .option(
      "--limit <n>",
      "at most so many, the newest, as `dead list` shows them",
      parseCount(10_000),
    )
    .addOption(schemaOption)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      helpEnd(
        [
          "intray queuebox dead retry --id 0d4f7a52-6f0c-4f6e-9a53-7d1d3d5a9d11",
          "intray queuebox dead retry --source orders --limit 10",
        ],
        "The last error stays in the row until the message fails again.",
      ),
    )
    .action(retry);
}

async function retry(options: RetryOptions): Promise<void> {
  const selection = selectionOf("dead retry", options);
  if ("ids" in selection && options.limit !== undefined) {
    throw new UsageError("dead retry takes --limit with --source or --all, not with --id");
  }
  await withInbox(options, async (inbox) => {
    const { schema } = inbox;
    const ids = await revive(inbox, selection, options.limit);
    const missing = "ids" in selection ? selection.ids.filter((id) => !ids.includes(id)) : [];
    if (options.json === true) printJson({ retried: ids.length, ids, missing, attempt: 0 });
    else {
      const what = ids.length === 1 ? "message is" : "messages are";
      printLine(`${ids.length} ${what} pending again: attempt 0, due now`);
    }
    if (missing.length > 0) {
      throw new CliError("NOT_FOUND", `${schema.table} has no dead message ${missing.join(", ")}`);
    }
  });
}

async function revive(
  inbox: OpenInbox,
  selection: Selection,
  limit: number | undefined,
): Promise<string[]> {
  if ("ids" in selection) return await reviveIds(inbox, selection.ids);
  if (limit !== undefined) {
    const values = { source: selection.source ?? null, after: null, limit };
    const { rows } = await ask<{ id: string }>(
      inbox.database.source,
      inbox.admin.list(inbox.schema),
      values,
    );
    return await reviveIds(
      inbox,
      rows.map(({ id }) => id),
    );
  }
  const ids: string[] = [];
  for (const { dead, source: name } of await readStatus(inbox, selection.source)) {
    ids.push(...(await reviveSource(inbox, name, Number(dead))));
  }
  return ids;
}

/** A worker may let them die again while this runs: it ends after about as many as were dead at the start. */
async function reviveSource(inbox: OpenInbox, name: string, most: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < most) {
    const statement = inbox.admin.retryOfSource(inbox.schema);
    const { rows } = await ask<{ id: string }>(inbox.database.source, statement, { source: name });
    ids.push(...rows.map(({ id }) => id));
    if (rows.length < deadLetterChunk) break;
  }
  return ids;
}

async function reviveIds(inbox: OpenInbox, ids: readonly string[]): Promise<string[]> {
  const values = { ids: inbox.admin.ids(ids) };
  const { rows } = await ask<{ id: string }>(
    inbox.database.source,
    inbox.admin.retry(inbox.schema),
    values,
  );
  return rows.map(({ id }) => id);
}
