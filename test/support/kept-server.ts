import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A running server, or why there is none. */
export type Server = { readonly url: string } | { readonly missing: string };

export interface StartedServer {
  readonly server: Server;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
}

const START_DEADLINE_MS = 60_000;
/** With the download of what it is made of. */
const DOWNLOAD_DEADLINE_MS = 300_000;
const STOP_DEADLINE_MS = 20_000;

/** Starts a PostgreSQL of our own on a free port of 127.0.0.1, empty, without durability. */
export function startPostgres(): Promise<StartedServer> {
  return startKept("./postgres-keeper.mjs");
}

/** The same of MariaDB, where it is installed; `options` of the server's own, such as `--sql-mode=`. */
export function startMariadb(options: readonly string[] = []): Promise<StartedServer> {
  return startKept("./mariadb-keeper.mjs", options);
}

/** The same of MySQL, out of Debian's packages. */
export function startMysql(options: readonly string[] = []): Promise<StartedServer> {
  return startKept("./mysql-keeper.mjs", options, DOWNLOAD_DEADLINE_MS);
}

async function startKept(
  program: string,
  options: readonly string[] = [],
  deadlineMs: number = START_DEADLINE_MS,
): Promise<StartedServer> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  // Its own process group: a Ctrl-C in the terminal goes to the test runner alone.
  const keeper = spawn(process.execPath, [path, ...options], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const server = await firstLine(keeper, deadlineMs);
  keeper.stdout.on("data", () => undefined);
  keeper.unref();
  return { server, stop: () => stop(keeper) };
}

async function firstLine(keeper: ChildProcess, deadlineMs: number): Promise<Server> {
  if (keeper.stdout === null) throw new Error("the keeper has no output");
  const lines = createInterface({ input: keeper.stdout });
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const [line] = await Promise.race([
      once(lines, "line", { signal }),
      once(lines, "close", { signal }).then(() => [undefined]),
    ]);
    return asServer(line);
  } catch (error) {
    return { missing: `no server within ${deadlineMs} ms: ${String(error)}` };
  } finally {
    lines.removeAllListeners();
  }
}

function asServer(line: unknown): Server {
  const told: unknown = typeof line === "string" ? JSON.parse(line) : undefined;
  if (typeof told === "object" && told !== null) {
    if ("url" in told && typeof told.url === "string") return { url: told.url };
    if ("missing" in told && typeof told.missing === "string") return { missing: told.missing };
  }
  return { missing: "the process that holds the server ended without a word" };
}

async function stop(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  keeper.ref();
  const ended = once(keeper, "exit");
  keeper.stdin?.end();
  const killer = setTimeout(() => keeper.kill("SIGKILL"), STOP_DEADLINE_MS);
  await ended;
  clearTimeout(killer);
}
