import { execFile } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "../support/package.ts";

export interface Runtime {
  readonly name: string;
  readonly command: string;
  /** What comes before the program's path. */
  readonly args: readonly string[];
  /** Whether it runs TypeScript as it is. */
  readonly typescript: boolean;
}

const FOLDER = join(repository, "test", "runtimes");
export const MODULES: string = join(FOLDER, "node_modules");

/** The Node that runs the tests, and those of package.json beside this file. */
export const runtimes: readonly Runtime[] = [
  { name: `Node ${process.versions.node}`, command: process.execPath, args: [], typescript: false },
  { name: "Node 22", command: join(MODULES, "node22/bin/node"), args: [], typescript: true },
  { name: "Node 24", command: join(MODULES, "node24/bin/node"), args: [], typescript: true },
  { name: "Node 26", command: join(MODULES, "node26/bin/node"), args: [], typescript: true },
  { name: "Bun", command: join(MODULES, ".bin/bun"), args: ["run"], typescript: true },
  { name: "Deno", command: join(MODULES, ".bin/deno"), args: ["run", "-A"], typescript: true },
];

/** Installs the runtimes, once for every change of their lock file. 780 MB, half a minute. */
export async function installRuntimes(): Promise<void> {
  const installed = join(MODULES, ".package-lock.json");
  const lock = join(FOLDER, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  await promisify(execFile)("npm", ["ci", "--no-audit", "--no-fund"], { cwd: FOLDER });
}

/** Some are packaged for one platform alone. */
export function isInstalled(runtime: Runtime): boolean {
  return existsSync(runtime.command);
}
