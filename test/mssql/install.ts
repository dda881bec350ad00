import { execFile } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const FOLDER = import.meta.dirname;

/** Installs the driver before the tests, once for every change of its lock file. 76 MB. */
export default async function install(): Promise<void> {
  const installed = join(FOLDER, "node_modules", ".package-lock.json");
  const lock = join(FOLDER, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"];
  await promisify(execFile)("npm", ["ci", ...flags], { cwd: FOLDER });
}
