import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { isObject } from "../../options.ts";
import { orAbort } from "../../time-limit.ts";

/** A server that the demo started, or why there is none. */
export type EmbeddedPostgres =
  | { readonly url: string; stop(): Promise<void> }
  | { readonly missing: string };

/** The hidden command that runs the keeper. */
export const KEEPER_COMMAND = "demo-postgres-keeper";

const START_MS = 60_000;
const STOP_MS = 25_000;

/** Starts a PostgreSQL of the demo's own in a keeper process (see postgres-keeper.ts). */
export async function startEmbeddedPostgres(signal: AbortSignal): Promise<EmbeddedPostgres> {
  const entry = process.argv[1];
  if (entry === undefined) return { missing: "this process does not know its own file" };
  // Its own process group: a Ctrl-C in the terminal goes to the demo alone.
  const keeper = spawn(process.execPath, [entry, "queuebox", KEEPER_COMMAND], {
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
    windowsHide: true,
  });
  try {
    const told = await orAbort(firstLine(keeper), signal);
    if ("url" in told) return { url: told.url, stop: () => stop(keeper) };
    await stop(keeper);
    return told;
  } catch (error) {
    await stop(keeper);
    throw error;
  }
}

async function firstLine(keeper: ChildProcess): Promise<{ url: string } | { missing: string }> {
  if (keeper.stdout === null) return { missing: "its process has no output" };
  const lines = createInterface({ input: keeper.stdout });
  const limit = AbortSignal.timeout(START_MS);
  try {
    const [line] = await Promise.race([
      once(lines, "line", { signal: limit }),
      once(lines, "close", { signal: limit }).then(() => [undefined]),
    ]);
    return answerOf(line);
  } catch (error) {
    return { missing: limit.aborted ? "it did not start within a minute" : String(error) };
  }
}

function answerOf(line: unknown): { url: string } | { missing: string } {
  const told: unknown = typeof line === "string" ? JSON.parse(line) : undefined;
  if (isObject(told) && typeof told.url === "string") return { url: told.url };
  if (isObject(told) && typeof told.missing === "string") return { missing: told.missing };
  return { missing: "its process ended without a word" };
}

/** Ends the keeper and waits for it: it takes its server and the server's folder with it. */
async function stop(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  const ended = once(keeper, "exit");
  keeper.stdin?.on("error", () => {});
  keeper.stdin?.end();
  const killer = setTimeout(() => keeper.kill("SIGKILL"), STOP_MS);
  await ended;
  clearTimeout(killer);
}
