/**
 * Holds one throw-away MariaDB server for a test run, in a process of its own: it stops the server and removes its
 * folder when its standard input closes, however the test run ends. The server is the machine's own program where it
 * has one, on a data folder of ours. Arguments are options of the server.
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
import { mariadbPrograms } from "./mariadb-programs.mjs";

const PREFIX = "intray-mariadb-";
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

process.stdin.resume();
for (const event of ["end", "close", "error"]) process.stdin.on(event, () => void stop());
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void stop());

await removeLeftovers();
try {
  say({ url: await start() });
} catch (error) {
  say({ missing: `${error?.message ?? error}\n${log.slice(-20).join("")}` });
  await stop();
}

async function start() {
  const { base, daemon, env, install } = await mariadbPrograms(OURS);
  folder = await mkdtemp(
    join((await roomInMemory()) ? MEMORY : tmpdir(), `${PREFIX}${process.pid}-`),
  );
  const data = join(folder, "data");
  const user = process.getuid?.() === 0 ? ["--user=root"] : [];
  const standing = base === undefined ? [] : [`--basedir=${base}`];
  await run(
    install,
    [
      "--no-defaults",
      `--datadir=${data}`,
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
      ...standing,
      ...user,
    ],
    { env },
  );
  for (let attempt = 1; ; attempt++) {
    if (stopping) throw new Error("stopped while starting");
    const port = await freePort();
    server = spawn(
      daemon,
      [
        "--no-defaults",
        `--datadir=${data}`,
        `--socket=${join(folder, "socket")}`,
        `--pid-file=${join(folder, "pid")}`,
        `--port=${port}`,
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
        "--skip-log-bin",
        "--character-set-server=utf8mb4",
        "--max-connections=300",
        "--innodb-buffer-pool-size=128M",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=0",
        "--innodb-log-file-size=32M",
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
    if (attempt === 3) throw new Error("MariaDB did not start");
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
async function removeLeftovers() {
  for (const root of [MEMORY, tmpdir()]) {
    for (const name of await readdir(root).catch(() => [])) {
      const keeper = Number(/^intray-mariadb-(\d+)-/.exec(name)?.[1]);
      if (!Number.isInteger(keeper) || (await runs(keeper, "mariadb-keeper.mjs"))) continue;
      const path = join(root, name);
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
