import { Option } from "commander";
import { parseName } from "./values.ts";

export const configOption: Option = new Option(
  "--config <file>",
  "the configuration; by default the nearest intray.config.ts, .mts, .js, .mjs or .cjs upward",
).argParser(parseName);

export const databaseNameOption: Option = new Option(
  "--database <name>",
  "this database of the configuration alone",
).argParser(parseName);

/** What every command on described tables takes. */
export interface ConfigOptions {
  readonly config?: string;
  readonly database?: string;
  readonly json?: boolean;
}
