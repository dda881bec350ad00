import { readFile } from "node:fs/promises";
import { Option } from "commander";
import { checkInboxSchema, defaultSchema, type InboxSchema } from "../../dialect/inbox-schema.ts";
import { isObject, shown } from "../../options.ts";
import { UsageError } from "../cli-error.ts";

export const schemaOption: Option = new Option(
  "--schema <map.json>",
  'a JSON object with the names that differ from V10, such as {"table": "app.inbox", "payload": "body"}',
);

/**
 * The table's names: V10's, less those that the file gives others.
 *
 * @throws UsageError that names the file and what is wrong in it.
 */
export async function readSchema(path: string | undefined): Promise<InboxSchema> {
  if (path === undefined) return defaultSchema;
  const map = parse(path, await readText(path));
  if (!isObject(map) || Array.isArray(map)) {
    throw new UsageError(`${path} takes a JSON object of names, not ${shown(map)}`);
  }
  try {
    return checkInboxSchema({ ...defaultSchema, ...map });
  } catch (error) {
    throw new UsageError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** @throws UsageError where the file cannot be read. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(
      `cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      `${path} is no JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
