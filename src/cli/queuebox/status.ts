import type { Command } from "commander";
import { pause, systemClock } from "../../clock.ts";
import type { InboxSchema } from "../../dialect/inbox-schema.ts";
import { checkTable } from "../database/check-table.ts";
import { withDatabase } from "../database/connect.ts";
import type { Database } from "../database/database.ts";
import { helpEnd } from "../help.ts";
import { databaseOption, requiredDatabaseUrl } from "../options/database-option.ts";
import { readSchema, schemaOption } from "../options/schema-option.ts";
import { durationText, parseCount, parseName } from "../options/values.ts";
import { type Column, printJson, printLine, tableText } from "../output.ts";
import { untilStopped } from "../stop.ts";
import { readStatus, type SourceStatus } from "./source-status.ts";

interface StatusOptions {
  readonly databaseUrl?: string;
  readonly source?: string;
  readonly schema?: string;
  readonly watch?: number | true;
  readonly json?: boolean;
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
  const url = requiredDatabaseUrl(options.databaseUrl);
  const schema = await readSchema(options.schema);
  await withDatabase(url, async (database) => {
    await checkTable(database, schema);
    await look(database, schema, options);
    const { watch } = options;
    if (watch === undefined) return;
    await untilStopped(async (signal) => {
      while (!signal.aborted) {
        await pause(systemClock, (watch === true ? 2 : watch) * 1000, signal);
        if (!signal.aborted) await look(database, schema, options);
      }
    });
  });
}

async function look(
  database: Database,
  schema: InboxSchema,
  { json, source, watch }: StatusOptions,
): Promise<void> {
  const sources = await readStatus(database.source, schema, source);
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
