import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** The folder of the repository. */
export const repository: string = fileURLToPath(new URL("../..", import.meta.url));

/** The packed package: of this run where `npm test` packed it, else packed now. */
export async function tarball(): Promise<string> {
  const packed = process.env["INTRAY_TARBALL"];
  if (packed !== undefined && packed !== "") return packed;
  const { stdout } = await execute(process.execPath, [join(repository, "scripts", "pack.mjs")]);
  return stdout.trim().split("\n").at(-1) ?? "";
}

export interface Project {
  readonly folder: string;
  remove(): Promise<void>;
}

/** A project as a user has it: a temporary folder, with these packages installed by npm. */
export async function makeProject(packages: readonly string[]): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "intray-project-"));
  const description = { name: "project", private: true, type: "module" };
  await writeFile(join(folder, "package.json"), JSON.stringify(description));
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"];
  await execute("npm", ["install", ...flags, ...packages], { cwd: folder });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
