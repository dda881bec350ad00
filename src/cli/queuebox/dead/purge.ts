import { confirm, isCancel } from "@clack/prompts";
import type { Command } from "commander";
import { deadLetterChunk } from "../../../dialect/inbox-administration.ts";
import { CliError, UsageError } from "../../cli-error.ts";
import { ask } from "../../database/ask.ts";
import { helpEnd } from "../../help.ts";
import { databaseOption } from "../../options/database-option.ts";
import { schemaOption } from "../../options/schema-option.ts";
import { durationText, parseDuration, parseId, parseName } from "../../options/values.ts";
import { printJson, printLine } from "../../output.ts";
import { type InboxOptions, type OpenInbox, withInbox } from "../open-inbox.ts";
import { readStatus } from "../source-status.ts";
import { type Selection, type SelectionOptions, selectionOf } from "./selection.ts";

interface PurgeOptions extends InboxOptions, SelectionOptions {
  readonly olderThan?: number;
  readonly yes?: boolean;
}

export function addPurge(parent: Command): void {
  parent
    .command("purge")
    .description("delete dead messages for good")
    .addOption(databaseOption)
    .option("--id <id>", "this message; may be given again for more", parseId)
    .option("--source <name>", "all of this source", parseName)
    .option("--all", "all of all sources")
    .option(
      "--older-than <time>",
      "only those last claimed so long ago: 7d, 12h, 30m",
      parseDuration,
    )
    .option("-y, --yes", "do not ask; needed where nobody can be asked")
    .addOption(schemaOption)
    .option("--json", "print JSON; takes --yes")
    .addHelpText(
      "after",
      helpEnd(
        [
          "intray queuebox dead purge --older-than 7d",
          "intray queuebox dead purge --source orders --older-than 12h --yes",
          "intray queuebox dead purge --id 0d4f7a52-6f0c-4f6e-9a53-7d1d3d5a9d11 --yes",
        ],
        "The table keeps no time of death: a message's age counts from its last claim.",
      ),
    )
    .action(purge);
}

async function purge(options: PurgeOptions): Promise<void> {
  const selection = selectionToPurge(options);
  const canAsk = process.stdin.isTTY && process.stdout.isTTY && options.json !== true;
  if (options.yes !== true && !canAsk) {
    throw new UsageError("dead purge deletes for good: give --yes where it cannot ask");
  }
  await withInbox(options, async (inbox) => {
    const { schema } = inbox;
    if (options.yes !== true) await confirmed(inbox, selection, options.olderThan);
    const ids =
      "ids" in selection
        ? await deletedIds(inbox, selection.ids)
        : await deletedOf(inbox, selection.source, options.olderThan ?? 0);
    const missing = "ids" in selection ? selection.ids.filter((id) => !ids.includes(id)) : [];
    if (options.json === true) printJson({ purged: ids.length, ids, missing });
    else printLine(`${ids.length} dead ${ids.length === 1 ? "message" : "messages"} deleted`);
    if (missing.length > 0) {
      throw new CliError("NOT_FOUND", `${schema.table} has no dead message ${missing.join(", ")}`);
    }
  });
}

/** An age alone is enough to say what is meant. */
function selectionToPurge(options: PurgeOptions): Selection {
  const { all, id = [], olderThan } = options;
  if (id.length > 0 && olderThan !== undefined) {
    throw new UsageError("dead purge takes --id for single messages, or --older-than; not both");
  }
  const isAll = all === true || (olderThan !== undefined && id.length === 0);
  return selectionOf("dead purge", { ...options, all: isAll });
}

/** @throws CliError where the answer is no. */
async function confirmed(
  inbox: OpenInbox,
  selection: Selection,
  olderThan: number | undefined,
): Promise<void> {
  const message = await question(inbox, selection, olderThan);
  const answer = await confirm({ message, initialValue: false });
  if (isCancel(answer) || !answer) throw new CliError("DECLINED", "nothing was deleted");
}

async function question(
  inbox: OpenInbox,
  selection: Selection,
  olderThan: number | undefined,
): Promise<string> {
  if ("ids" in selection) return `Delete ${selection.ids.length} dead messages for good?`;
  const sources = await readStatus(inbox, selection.source);
  const count = sources.reduce((sum, { dead }) => sum + dead, 0n);
  const whose = selection.source === undefined ? "all sources" : `source ${selection.source}`;
  return olderThan === undefined
    ? `Delete all ${count} dead messages of ${whose} for good?`
    : `Delete the dead messages of ${whose} that are older than ${durationText(olderThan)} for good? There are ${count} of any age.`;
}

async function deletedIds(inbox: OpenInbox, ids: readonly string[]): Promise<string[]> {
  const values = { ids: inbox.admin.ids(ids) };
  const { rows } = await ask<{ id: string }>(
    inbox.database.source,
    inbox.admin.purge(inbox.schema),
    values,
  );
  return rows.map(({ id }) => id);
}

async function deletedOf(
  inbox: OpenInbox,
  name: string | undefined,
  olderThanMs: number,
): Promise<string[]> {
  const statement = inbox.admin.purgeOld(inbox.schema);
  const values = { source: name ?? null, olderThanMs };
  const ids: string[] = [];
  for (;;) {
    const { rows } = await ask<{ id: string }>(inbox.database.source, statement, values);
    ids.push(...rows.map(({ id }) => id));
    if (rows.length < deadLetterChunk) return ids;
  }
}
