import type { Command } from "commander";
import { CliError, UsageError } from "../../cli-error.ts";
import { ask } from "../../database/ask.ts";
import { helpEnd } from "../../help.ts";
import { type Json, jsonText } from "../../json-text.ts";
import { databaseOption } from "../../options/database-option.ts";
import { schemaOption } from "../../options/schema-option.ts";
import { parseId } from "../../options/values.ts";
import { printable, printJson, printLine } from "../../output.ts";
import { type InboxOptions, withInbox } from "../open-inbox.ts";
import { type WholeDeadRow, wholeDeadJson } from "./dead-row.ts";

interface ShowOptions extends InboxOptions {
  readonly id?: readonly string[];
}

export function addShow(parent: Command): void {
  parent
    .command("show")
    .description("show one dead message with its payload and headers")
    .argument("[id]", "the message's id, as `dead list` prints it", parseId)
    .option("--id <id>", "the same as an option", parseId)
    .addOption(databaseOption)
    .addOption(schemaOption)
    .option("--json", "print JSON; payload and headers as they are stored")
    .addHelpText(
      "after",
      helpEnd([
        "intray queuebox dead show 0d4f7a52-6f0c-4f6e-9a53-7d1d3d5a9d11",
        "intray queuebox dead show --id 0d4f7a52-6f0c-4f6e-9a53-7d1d3d5a9d11 --json",
      ]),
    )
    .action(show);
}

async function show(argument: readonly string[] | undefined, options: ShowOptions): Promise<void> {
  const [id, ...others] = [...(argument ?? []), ...(options.id ?? [])];
  if (id === undefined || others.length > 0) {
    throw new UsageError("dead show takes the id of one message");
  }
  await withInbox(options, async ({ admin, database, schema }) => {
    const found = await ask<WholeDeadRow>(database.source, admin.show(schema), { id });
    const row = found.rows[0];
    if (row === undefined) {
      throw new CliError("NOT_FOUND", `${schema.table} has no dead message ${id}`);
    }
    if (options.json === true) printJson(wholeDeadJson(row));
    else for (const line of lines(wholeDeadJson(row))) printLine(line);
  });
}

function lines(fields: { readonly [key: string]: Json }): string[] {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  return Object.entries(fields).map(([name, value]) => {
    const text = typeof value === "string" ? value : jsonText(value);
    return `${name.padEnd(width)}  ${printable(value === null ? "-" : text)}`;
  });
}
