import { type Command, InvalidArgumentError } from "commander";
import { configOption, databaseNameOption } from "../../options/config-option.ts";
import { parseName } from "../../options/values.ts";

/** Options that say whose rows are meant. */
export function addRowOptions(command: Command): Command {
  return command
    .addOption(configOption)
    .addOption(databaseNameOption)
    .option(
      "--table <name>",
      "the table, as schema.table or table; may be left out where there is one",
      parseName,
    )
    .option("--group <name>", "the group of dead letters; left out: the whole table");
}

/** A row's id as the list prints it; given more than once, all of them. */
export function parseRowId(text: string, before: readonly string[] = []): readonly string[] {
  if (text.trim() !== "") return [...before, text];
  throw new InvalidArgumentError("It takes a row's id.");
}

/** A column by its property; given more than once, all of them. */
export function parseProperty(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, parseName(text)];
}
