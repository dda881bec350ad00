import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { repository } from "../../support/package.ts";
import { until } from "../../support/until.ts";
import type {
  BrokerSettings,
  HandlerWindow,
  HolderSays,
  HolderSettings,
  ProducerSays,
  ProducerSettings,
  WorkerHears,
  WorkerSays,
  WorkerSettings,
} from "./protocol.ts";

const END_DEADLINE_MS = 20_000;

/** A process that runs one of the programs beside this file. */
class Program<Says> {
  readonly child: ChildProcess;
  readonly said: Says[] = [];
  #errors = "";

  constructor(
    file: string,
    settings: WorkerSettings | ProducerSettings | BrokerSettings | HolderSettings,
  ) {
    this.child = fork(file, [JSON.stringify(settings)], {
      execArgv: ["--unhandled-rejections=strict"],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.child.on("message", (message) => this.said.push(message as Says));
    this.child.stderr?.on("data", (chunk) => {
      this.#errors += String(chunk);
    });
    running.add(this.child);
    this.child.once("close", () => running.delete(this.child));
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Waits for its end by itself. @throws Error with what it wrote where it failed. */
  async ended(deadline = END_DEADLINE_MS): Promise<void> {
    if (this.isRunning) {
      await once(this.child, "close", { signal: AbortSignal.timeout(deadline) });
    }
    const { exitCode, signalCode } = this.child;
    if (exitCode !== 0) {
      throw new Error(`the process ended with ${exitCode ?? signalCode}:\n${this.#errors}`);
    }
  }

  /** Sends a signal that ends it, and waits for the end, whatever it is. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    const closed = once(this.child, "close");
    this.child.kill("SIGKILL");
    await closed;
  }
}

/** An inbox worker in a process of its own. */
export class WorkerProcess extends Program<WorkerSays> {
  static async start(settings: WorkerSettings): Promise<WorkerProcess> {
    const worker = new WorkerProcess(await program("worker"), settings);
    await until(() => worker.says("ready").length > 0 || !worker.isRunning);
    if (!worker.isRunning) await worker.ended();
    return worker;
  }

  says<Kind extends WorkerSays["say"]>(kind: Kind): Extract<WorkerSays, { readonly say: Kind }>[] {
    return this.said.filter(
      (each): each is Extract<WorkerSays, { readonly say: Kind }> => each.say === kind,
    );
  }

  /** The keys of the messages whose handlers have started, where they hold. */
  get started(): string[] {
    return this.says("started").map(({ key }) => key);
  }

  /** The events that it logged. */
  get events(): string[] {
    return this.says("log").map(({ event }) => event);
  }

  get windows(): readonly HandlerWindow[] {
    return this.says("ended");
  }

  tell(what: WorkerHears): void {
    this.child.send(what);
  }

  /** Stops it in good order. */
  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    await this.ended();
  }
}

/** Producers in a process of their own. Resolves with how many messages they wrote. */
export async function produce(settings: ProducerSettings): Promise<number> {
  const producers = new Program<ProducerSays>(await program("producers"), settings);
  await producers.ended(120_000);
  return producers.said[0]?.messages ?? 0;
}

/** A broker in a process of its own, from its start to its stop. Resolves when the process has ended by itself. */
export async function runBroker(settings: BrokerSettings): Promise<void> {
  await new Program(await program("broker"), settings).ended();
}

/** A broker in a process of its own, whose rows are in work until it is killed. */
export class HolderProcess extends Program<HolderSays> {
  static async start(settings: HolderSettings): Promise<HolderProcess> {
    return new HolderProcess(await program("holder"), settings);
  }

  /** The messages in work, each with its attempt. */
  get holds(): string[] {
    return this.said.map(({ attempt, message }) => `${message} ${attempt}`);
  }
}

/** Ends what still runs, one by one; for a test's end, however it ends. */
export async function endAll(): Promise<void> {
  for (const child of [...running]) {
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  }
}

const running = new Set<ChildProcess>();
const programs = new Map<string, Promise<string>>();

/** The file of a program, bundled with the sources that it imports: Node 20 runs no TypeScript. */
function program(name: "worker" | "producers" | "broker" | "holder"): Promise<string> {
  let file = programs.get(name);
  if (file === undefined) {
    file = bundle(name);
    programs.set(name, file);
  }
  return file;
}

async function bundle(name: string): Promise<string> {
  const entry = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const built = await build({
    configFile: false,
    root: repository,
    logLevel: "warn",
    build: {
      ssr: entry,
      target: "node20",
      write: false,
      rolldownOptions: { output: { format: "esm" } },
    },
  });
  const output = "output" in built ? built.output : [];
  const [chunk] = output;
  if (chunk === undefined || output.length > 1) throw new Error(`${name} is not one chunk`);
  // Within node_modules, so that the drivers are found.
  const folder = join(repository, "node_modules", ".cache", "intray", "programs");
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${name}.mjs`);
  const part = `${file}.${process.pid}`;
  await writeFile(part, chunk.code);
  await rename(part, file);
  return file;
}
