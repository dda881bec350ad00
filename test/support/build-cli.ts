import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { repository } from "./package.ts";

/** The tests of the command line run dist/cli.mjs. `npm test` has built it; otherwise it is built here. */
export default async function setup(): Promise<void> {
  const packed = process.env["INTRAY_TARBALL"];
  if (packed !== undefined && packed !== "") return;
  const tsdown = dirname(createRequire(import.meta.url).resolve("tsdown/package.json"));
  for (const name of ["cli", "cli-typescript"]) {
    const args = [join(tsdown, "dist", "run.mjs"), "--filter", name, "--logLevel", "warn"];
    await promisify(execFile)(process.execPath, args, { cwd: repository });
  }
}
