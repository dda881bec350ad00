import { copyFile, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { CLI, Cli, type CliResult, folderWith } from "../cli/run-cli.ts";
import { openServer } from "./open-server.ts";
import type { Reply, Said } from "./tds-server.ts";

/** A server that answers so, and a project beside it that has the command line and the driver. */
export async function project(
  answer: (said: Said) => Reply | undefined,
  files: Readonly<Record<string, string>> = {},
) {
  const { port, server } = await openServer();
  server.answer = answer;
  const folder = await folderWith(files);
  await copyFile(CLI, join(folder, "cli.mjs"));
  await mkdir(join(folder, "node_modules"));
  await symlink(
    join(import.meta.dirname, "node_modules", "mssql"),
    join(folder, "node_modules", "mssql"),
  );
  const at = `sa:hunter2@127.0.0.1:${port}/app`;
  return {
    server,
    port,
    url: `mssql://${at}?encrypt=false`,
    other: `sqlserver://${at}?Encrypt=FALSE`,
    run: (url: string, ...args: readonly string[]): Promise<CliResult> =>
      new Cli(args, { entry: join(folder, "cli.mjs"), cwd: folder, url }).ended,
  };
}
