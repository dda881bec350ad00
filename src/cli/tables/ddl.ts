import type { Command } from "commander";
import { dialectNamed } from "../../dialect/dialects.ts";
import { tableLabel } from "../../table/description.ts";
import { checkNames } from "../../table/names.ts";
import { UsageError } from "../cli-error.ts";
import { databasesNamed, loadConfig } from "../config/load-config.ts";
import { tablesNamed } from "../config/named-table.ts";
import { helpEnd } from "../help.ts";
import { type ConfigOptions, configOption, databaseNameOption } from "../options/config-option.ts";
import { parseName } from "../options/values.ts";
import { printJson, printLine } from "../output.ts";

interface DdlOptions extends ConfigOptions {
  readonly dialect?: string;
  readonly listenNotify?: boolean;
}

export function addDdl(parent: Command): void {
  parent
    .command("ddl")
    .description("print what makes the described tables and the indexes that their claims want")
    .argument("[table...]", "these alone, as schema.table or table")
    .addOption(configOption)
    .addOption(databaseNameOption)
    .option("--dialect <name>", "for this database instead of the configured one", parseName)
    .option("--listen-notify", "also the trigger that wakes brokers with listenNotify: true")
    .option("--json", "print the statements as JSON")
    .addHelpText(
      "after",
      helpEnd(["intray ddl | psql shop", "intray ddl app.email_jobs --listen-notify"]),
    )
    .action(printDdl);
}

async function printDdl(names: readonly string[], options: DdlOptions): Promise<void> {
  const config = await loadConfig(options.config);
  const databases = databasesNamed(config, options.database);
  const { listenNotify = false } = options;
  const seen = new Set<string>();
  const tables = tablesNamed(config, databases, names).flatMap(({ database, table }) => {
    const dialect = options.dialect === undefined ? database.dialect : named(options.dialect);
    // The messages of a headers layout are no tables of their own.
    const place = `${database.name} ${tableLabel(table)}`;
    if (seen.has(place)) return [];
    seen.add(place);
    checkNames(table, dialect);
    return [
      {
        database: database.name,
        table: tableLabel(table),
        dialect: dialect.name,
        statements: dialect.ddl(table, { listenNotify }),
      },
    ];
  });
  if (options.json === true) {
    printJson({ tables });
    return;
  }
  const texts = tables.map(({ statements }) => statements.map((text) => `${text};\n`).join("\n"));
  printLine(texts.join("\n").trimEnd());
}

/** @throws UsageError where there is none of that name. */
function named(dialect: string): ReturnType<typeof dialectNamed> {
  try {
    return dialectNamed(dialect);
  } catch (error) {
    throw new UsageError(`--dialect: ${error instanceof Error ? error.message : String(error)}`);
  }
}
