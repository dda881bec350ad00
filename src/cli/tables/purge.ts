import { confirm, isCancel } from "@clack/prompts";
import type { Command } from "commander";
import { purgeProcessed } from "../../broker/purge-processed.ts";
import { tableLabel } from "../../table/description.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { databasesNamed, loadConfig } from "../config/load-config.ts";
import { tableNamed } from "../config/named-table.ts";
import { withConfigured } from "../config/open-database.ts";
import { helpEnd } from "../help.ts";
import { type ConfigOptions, configOption, databaseNameOption } from "../options/config-option.ts";
import { durationText, parseCount, parseDuration, parseName } from "../options/values.ts";
import { printJson, printLine } from "../output.ts";
import { untilStopped } from "../stop.ts";
import { seeTable } from "./see-table.ts";

interface PurgeOptions extends ConfigOptions {
  readonly table?: string;
  readonly olderThan: number;
  readonly chunk: number;
  readonly yes?: boolean;
}

export function addPurge(parent: Command): void {
  parent
    .command("purge")
    .description("delete processed rows for good, of a table that keeps them")
    .addOption(configOption)
    .addOption(databaseNameOption)
    .option("--table <name>", "the table, as schema.table or table", parseName)
    .requiredOption(
      "--older-than <time>",
      "only those processed so long ago: 7d, 12h, 30m",
      parseDuration,
    )
    .option("--chunk <n>", "so many in one statement", parseCount(100_000), 1_000)
    .option("-y, --yes", "do not ask; needed where nobody can be asked")
    .option("--json", "print JSON; takes --yes")
    .addHelpText(
      "after",
      helpEnd([
        "intray purge --table app.email_jobs --older-than 7d",
        "intray purge --table app.email_jobs --older-than 12h --chunk 500 --yes --json",
      ]),
    )
    .action(purge);
}

async function purge(options: PurgeOptions): Promise<void> {
  const { chunk, olderThan, yes } = options;
  const config = await loadConfig(options.config);
  const place = tableNamed(config, databasesNamed(config, options.database), options.table);
  const label = tableLabel(place.table);
  await askFirst(
    "purge",
    { yes, json: options.json },
    `Delete the rows of ${label} that were processed more than ${durationText(olderThan)} ago for good?`,
  );
  await withConfigured(config, place.database, async ({ source }) => {
    await seeTable(source, place);
    const { dialect } = place.database;
    const purged = await untilStopped((signal) =>
      purgeProcessed(source, { description: place.table }, { olderThan, chunk, signal, dialect }),
    );
    if (options.json === true) printJson({ table: label, purged });
    else printLine(`${purged} processed ${purged === 1 ? "row" : "rows"} of ${label} deleted`);
  });
}

/**
 * What deletes for good asks first.
 *
 * @throws UsageError where nobody can be asked, CliError where the answer is no.
 */
export async function askFirst(
  command: string,
  { json, yes }: { readonly yes?: boolean | undefined; readonly json?: boolean | undefined },
  message: string,
): Promise<void> {
  if (yes === true) return;
  if (!process.stdin.isTTY || !process.stdout.isTTY || json === true) {
    throw new UsageError(`${command} deletes for good: give --yes where it cannot ask`);
  }
  const answer = await confirm({ message, initialValue: false });
  if (isCancel(answer) || !answer) throw new CliError("DECLINED", "nothing was deleted");
}
