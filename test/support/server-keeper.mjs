/**
 * Holds one throw-away MariaDB or MySQL server for a test run, in a process of its own: it stops the server and removes
 * its folder when its standard input closes, however the test run ends. The process's arguments are options of the
 * server.
 *
 * Says one line on standard output: {"url": "..."} or {"missing": "why"}.
 */
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, statfs } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Memory, where there is enough of it. */
const MEMORY = "/dev/shm";
const MEMORY_NEEDED = 2 * 1024 ** 3;
const START_DEADLINE_MS = 40_000;
/** Where the programs are put that the machine does not have. */
const OURS = fileURLToPath(new URL("../../.work", import.meta.url));
const run = promisify(execFile);

const log = [];
let stopping = false;
let server;
let folder;

/** `kind`: `mariadb` or `mysql`, which the program `<kind>-keeper.mjs` runs. `programsIn`: see each one's programs. */
export async function keepServer(kind, programsIn) {
  process.stdin.resume();
  for (const event of ["end", "close", "error"]) process.stdin.on(event, () => void stop());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void stop());

  await removeLeftovers(kind);
  try {
    say({ url: await start(kind, await programsIn(OURS)) });
  } catch (error) {
    say({ missing: `${error?.message ?? error}\n${log.slice(-20).join("")}` });
    await stop();
  }
}

async function start(kind, { daemon, env, install, installing, serving, standing }) {
  if (stopping) throw new Error("stopped while starting");
  folder = await mkdtemp(
    join((await roomInMemory()) ? MEMORY : tmpdir(), `intray-${kind}-${process.pid}-`),
  );
  const data = join(folder, "data");
  const user = process.getuid?.() === 0 ? ["--user=root"] : [];
  const [installer, ...before] = install;
  const words = ["--no-defaults", `--datadir=${data}`, ...installing, ...standing, ...user];
  await run(installer, [...before, ...words], { env });
  const [program, ...first] = daemon;
  for (let attempt = 1; ; attempt++) {
    if (stopping) throw new Error("stopped while starting");
    const port = await freePort();
    server = spawn(
      program,
      [
        ...first,
        "--no-defaults",
        `--datadir=${data}`,
        `--socket=${join(folder, "socket")}`,
        `--pid-file=${join(folder, "pid")}`,
        `--port=${port}`,
        "--bind-address=127.0.0.1",
        "--skip-log-bin",
        "--character-set-server=utf8mb4",
        "--max-connections=300",
        "--innodb-buffer-pool-size=128M",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=0",
        ...serving,
        ...process.argv.slice(2),
        ...standing,
        ...user,
      ],
      { env, stdio: ["ignore", "pipe", "pipe"] },
    );
    for (const stream of [server.stdout, server.stderr]) {
      stream.on("data", (line) => log.push(String(line)));
    }
    if (await answers(port)) return `mysql://root@127.0.0.1:${port}/`;
    // Somebody else may have taken the port in between.
    if (attempt === 3) throw new Error("the server did not start");
  }
}

/** Whether the server listens before it ends, or before the time is up. */
async function answers(port) {
  const until = Date.now() + START_DEADLINE_MS;
  while (Date.now() < until && server.exitCode === null && !stopping) {
    const reached = await new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1");
      // It greets first; who only listens may be somebody else's.
      socket.once("data", () => resolve(true));
      socket.once("error", () => resolve(false));
      socket.once("close", () => resolve(false));
      socket.setTimeout(2_000, () => resolve(false));
    });
    if (reached) return server.exitCode === null;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

async function stop() {
  if (stopping) return;
  stopping = true;
  if (server !== undefined && server.exitCode === null) {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    // Nothing of it is kept: there is no need to be polite.
    server.kill("SIGKILL");
    await ended;
  }
  if (folder !== undefined) await remove(folder);
  process.exit(0);
}

/** Servers of keepers that were killed: each folder's name has its keeper's pid. */
async function removeLeftovers(kind) {
  const name = new RegExp(`^intray-${kind}-(\\d+)-`);
  for (const root of [MEMORY, tmpdir()]) {
    for (const entry of await readdir(root).catch(() => [])) {
      const keeper = Number(name.exec(entry)?.[1]);
      if (!Number.isInteger(keeper) || (await runs(keeper, `${kind}-keeper.mjs`))) continue;
      const path = join(root, entry);
      const pid = Number(await readFile(join(path, "pid"), "utf8").catch(() => ""));
      if (await runs(pid, path)) process.kill(pid, "SIGKILL");
      await remove(path).catch(() => undefined);
    }
  }
}

function remove(path) {
  return rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** Whether a process is alive and has these words in its command line. */
async function runs(pid, words) {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return command.includes(words);
}

async function roomInMemory() {
  const room = await statfs(MEMORY).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize >= MEMORY_NEEDED;
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
