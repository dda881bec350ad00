import type { Command } from "commander";
import * as postgres from "../../dialect/postgres/inbox-ddl.ts";
import * as sqlserver from "../../dialect/sqlserver/inbox-ddl.ts";
import { UsageError } from "../cli-error.ts";
import { helpEnd } from "../help.ts";
import { checkDialect, dialectOption } from "../options/dialect-option.ts";
import { readSchema, schemaOption } from "../options/schema-option.ts";
import { printJson } from "../output.ts";

interface DdlOptions {
  readonly dialect: string;
  readonly schema?: string;
  readonly extraIndexes?: boolean;
  readonly listenNotify?: boolean;
  readonly json?: boolean;
}

export function addDdl(parent: Command): void {
  parent
    .command("ddl")
    .description("print what makes the inbox table (schema V10)")
    .addOption(dialectOption)
    .addOption(schemaOption)
    .option("--extra-indexes", "also the index that keeps claims fast past one long aggregate")
    .option("--listen-notify", "also the trigger that wakes workers with listenNotify: true")
    .option("--json", "print the statements as JSON")
    .addHelpText(
      "after",
      helpEnd([
        "intray queuebox ddl --dialect postgresql | psql shop",
        "intray queuebox ddl --dialect postgresql --schema map.json --extra-indexes --listen-notify",
        "intray queuebox ddl --dialect sqlserver --extra-indexes",
      ]),
    )
    .action(printDdl);
}

async function printDdl(options: DdlOptions): Promise<void> {
  const dialect = checkDialect(options.dialect);
  const { extraIndexes = false, listenNotify = false } = options;
  if (listenNotify && dialect === "sqlserver") {
    throw new UsageError("--listen-notify takes --dialect postgresql: SQL Server has no channels");
  }
  const wanted = { schema: await readSchema(options.schema), extraIndexes, listenNotify };
  const { inboxDdl, inboxDdlText } = dialect === "sqlserver" ? sqlserver : postgres;
  if (options.json === true) printJson({ dialect, statements: inboxDdl(wanted) });
  else process.stdout.write(inboxDdlText(wanted));
}
