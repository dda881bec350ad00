import type { Command } from "commander";
import { pause, systemClock } from "../../clock.ts";
import { helpEnd } from "../help.ts";
import { databaseOption } from "../options/database-option.ts";
import { schemaOption } from "../options/schema-option.ts";
import { durationText, parseCount, parseName } from "../options/values.ts";
import { type Column, printJson, printLine, tableText } from "../output.ts";
import { untilStopped } from "../stop.ts";
import { type InboxOptions, type OpenInbox, withInbox } from "./open-inbox.ts";
import { readStatus, type SourceStatus } from "./source-status.ts";

interface StatusOptions extends InboxOptions {
  readonly source?: string;
  readonly watch?: number | true;
}

export function addStatus(parent: Command): void {
  parent
    .command("status")
    .description("show what waits, is in work, has expired and is dead, source by source")
    .addOption(databaseOption)
    .option("--source <name>", "this source alone", parseName)
    .addOption(schemaOption)
    .option(
      "--watch [seconds]",
      "look again and again, every 2 seconds by default",
      parseCount(3600),
    )
    .option("--json", "print JSON; with --watch one line a look")
    .addHelpText(
      "after",
      helpEnd([
        "DATABASE_URL=postgres://localhost/shop intray queuebox status",
        "intray queuebox status --source orders --json",
        "intray queuebox status --watch 5",
      ]),
    )
    .action(showStatus);
}

async function showStatus(options: StatusOptions): Promise<void> {
  await withInbox(options, async (inbox) => {
    await look(inbox, options);
    const { watch } = options;
    if (watch === undefined) return;
    await untilStopped(async (signal) => {
      while (!signal.aborted) {
        await pause(systemClock, (watch === true ? 2 : watch) * 1000, signal);
        if (!signal.aborted) await look(inbox, options);
      }
    });
  });
}

async function look(inbox: OpenInbox, { json, source, watch }: StatusOptions): Promise<void> {
  const { schema } = inbox;
  const sources = await readStatus(inbox, source);
  if (json === true) {
    printJson({ table: schema.table, sources });
    return;
  }
  if (watch !== undefined) printLine(new Date().toISOString());
  if (sources.length === 0) {
    printLine(`nothing in ${schema.table} is waiting, in work or dead`);
  } else {
    printLine(tableText(COLUMNS, sources));
  }
}

const COLUMNS: readonly Column<SourceStatus>[] = [
  { title: "source", text: ({ source }) => source },
  { title: "backlog", text: ({ backlog }) => backlog.toString(), align: "right" },
  { title: "due later", text: ({ scheduled }) => scheduled.toString(), align: "right" },
  { title: "in work", text: ({ inWork }) => inWork.toString(), align: "right" },
  { title: "expired", text: ({ expired }) => expired.toString(), align: "right" },
  { title: "dead", text: ({ dead }) => dead.toString(), align: "right" },
  { title: "oldest due", text: oldestText },
];

function oldestText({ oldestDue, oldestDueMs }: SourceStatus): string {
  if (oldestDue === null || oldestDueMs === null) return "-";
  return `${durationText(Number(oldestDueMs))} ago (${oldestDue})`;
}
