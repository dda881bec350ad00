import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Runtime } from "./runtimes.ts";

const STOP_DEADLINE_MS = 15_000;

/** A program under a runtime, with all that it says. */
export class Program {
  readonly #child;
  #output = "";

  constructor(runtime: Runtime, file: string, cwd: string, env: Record<string, string> = {}) {
    this.#child = spawn(runtime.command, [...runtime.args, file], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const keep = (chunk: unknown) => {
      this.#output += String(chunk);
    };
    this.#child.stdout.on("data", keep);
    this.#child.stderr.on("data", keep);
  }

  get output(): string {
    return this.#output;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Waits for its end. @throws Error with its output where it fails. */
  async end(): Promise<string> {
    if (this.running) await once(this.#child, "close");
    if (this.#child.exitCode !== 0) throw new Error(`it failed:\n${this.#output}`);
    return this.#output;
  }

  /** Asks it to stop, as a service manager does. Answers whether it did, and ends it where it did not. */
  async stop(): Promise<boolean> {
    if (!this.running) return true;
    const closed = once(this.#child, "close");
    this.#child.kill("SIGTERM");
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_DEADLINE_MS);
    await closed;
    clearTimeout(killer);
    return this.#child.signalCode !== "SIGKILL";
  }
}
