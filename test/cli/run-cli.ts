import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { repository } from "../support/package.ts";

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  /** DATABASE_URL; none by default, whatever the tests' own environment has. */
  readonly url?: string;
  readonly cwd?: string;
  /** Another file than dist/cli.mjs. */
  readonly entry?: string;
}

/** A running command and what it has said so far. */
export class Cli {
  readonly process: ChildProcess;
  stdout = "";
  stderr = "";
  readonly ended: Promise<CliResult>;

  constructor(args: readonly string[], { cwd, entry, url }: CliOptions = {}) {
    const { DATABASE_URL: _, ...env } = process.env;
    this.process = spawn(process.execPath, [entry ?? CLI, ...args], {
      cwd: cwd ?? repository,
      env: {
        ...env,
        ...(url !== undefined && { DATABASE_URL: url }),
        // The driver of SQL Server is in a folder of its own.
        ...(entry === undefined && /^mssql:/.test(url ?? "") && { NODE_PATH: MSSQL_MODULES }),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.process.stdout?.on("data", (data) => {
      this.stdout += String(data);
    });
    this.process.stderr?.on("data", (data) => {
      this.stderr += String(data);
    });
    this.ended = once(this.process, "close").then(([code]) => ({
      code: typeof code === "number" ? code : null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
    onTestFinished(() => {
      this.process.kill("SIGKILL");
    });
  }
}

const MSSQL_MODULES: string = join(repository, "test", "mssql", "node_modules");

export const CLI: string = join(repository, "dist", "cli.mjs");

/** Runs `intray queuebox ...` to its end. */
export function queuebox(args: readonly string[], options?: CliOptions): Promise<CliResult> {
  return new Cli(["queuebox", ...args], options).ended;
}

/** The error that a command told with --json, and its exit code. */
export function jsonError({ code, stderr }: CliResult): { code: number | null; error: unknown } {
  const told: unknown = JSON.parse(stderr);
  if (typeof told !== "object" || told === null || !("error" in told)) throw new Error(stderr);
  return { code, error: told.error };
}

/** A temporary folder with these files; it is gone when the test ends. */
export async function folderWith(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "intray-cli-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}
