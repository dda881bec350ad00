import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CliError } from "../cli-error.ts";

/** In the order in which they are looked for. */
export const CONFIG_NAMES: readonly string[] = ["ts", "mts", "js", "mjs", "cjs"].map(
  (ending) => `intray.config.${ending}`,
);

/**
 * The configuration's file: the one that was named, else the nearest from the working folder upward.
 *
 * @throws CliError that says where it was looked for.
 */
export function findConfig(named: string | undefined, from: string = process.cwd()): string {
  if (named !== undefined) {
    const path = resolve(from, named);
    if (isFile(path)) return path;
    throw new CliError("CONFIG", `--config: there is no file ${path}`, 2);
  }
  const folders = foldersUp(from);
  for (const folder of folders) {
    const found = CONFIG_NAMES.map((name) => join(folder, name)).find(isFile);
    if (found !== undefined) return found;
  }
  throw new CliError(
    "CONFIG",
    `there is no configuration: looked for ${CONFIG_NAMES.join(", ")} in ${folders.join(", ")}; write one, or name it with --config`,
    2,
  );
}

function foldersUp(from: string): readonly string[] {
  const folders = [resolve(from)];
  for (;;) {
    const last = folders.at(-1) ?? "/";
    const above = dirname(last);
    if (above === last) return folders;
    folders.push(above);
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
