import { onTestFinished } from "vitest";
import type { Connection, ConnectionSource } from "../../src/driver/connection.ts";
import { type InboxHandler, type InboxOptions, InboxWorker } from "../../src/queuebox/index.ts";
import { LineLogger } from "./inbox.ts";
import { inboxWords } from "./inbox-words.ts";
import { TestClock } from "./test-clock.ts";
import { type UntilOptions, until } from "./until.ts";

/** How long a worker may take to end when its test has, with the clock running fast. */
const CLEARED_MS = 10_000;

/** A worker at work. */
export interface Work {
  readonly logger: LineLogger;
  /** Aborts the signal of `run`; settles as `run` does. */
  stop(): Promise<void>;
  /** `run` itself. */
  readonly ended: Promise<void>;
}

/**
 * Starts a worker of the source "orders" that polls every 20 ms. When the test ends it is stopped,
 * whatever state the test left it in.
 */
export function work(
  source: ConnectionSource,
  handler: InboxHandler,
  options: Partial<InboxOptions> = {},
): Work {
  const logger = new LineLogger();
  const worker = new InboxWorker(source, {
    source: "orders",
    pollIntervalMs: 20,
    dialect: inboxWords(source.database ?? "postgres").dialect,
    logger,
    ...options,
  });
  const controller = new AbortController();
  const ended = worker.run(handler, controller.signal);
  // A rejection is seen at stop(); until then it must not count as unhandled.
  const settled = ended.catch(() => undefined);
  onTestFinished(async () => {
    controller.abort();
    for (const latch of latches) latch.open();
    const isOver = settled.then(() => true);
    const { clock } = options;
    if (!(clock instanceof TestClock)) return void (await settled);
    const deadline = performance.now() + CLEARED_MS;
    while (!(await Promise.race([isOver, clock.advance(1000).then(() => false)]))) {
      if (performance.now() > deadline) throw new Error("the worker did not end after the test");
    }
  });
  return {
    logger,
    ended,
    stop() {
      controller.abort();
      return ended;
    },
  };
}

/** `until` with a deadline that a busy machine keeps. */
export function eventually<T>(condition: () => T | Promise<T>, options: UntilOptions = {}) {
  return until(condition, { deadline: 25_000, ...options });
}

/** A point that something waits at until the test lets it go on. */
export interface Latch {
  readonly opened: Promise<void>;
  open(): void;
}

const latches = new Set<Latch>();

/** A closed latch. It opens by itself when a test's worker is cleared away. */
export function latch(): Latch {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const made = { opened, open };
  latches.add(made);
  return made;
}

/** A source in front of a real one that counts, and that can be made to have no connections. */
export class WatchedSource implements ConnectionSource {
  readonly max?: number;
  readonly database?: string;
  readonly listen?: NonNullable<ConnectionSource["listen"]>;
  readonly #inner: ConnectionSource;
  /** Checkouts that were asked for, answered or not. */
  connects = 0;
  /** Connections that are checked out or on their way. */
  inUse = 0;
  mostInUse = 0;
  /** While there is one, checkouts wait for it, whatever their signals say. */
  gate: Promise<void> | undefined;
  /** While there is one, checkouts fail with it. */
  failure: Error | undefined;
  /** So many checkouts fail with `failure`, which then goes away; by default all. */
  failures: number = Number.POSITIVE_INFINITY;

  constructor(inner: ConnectionSource) {
    this.#inner = inner;
    if (inner.max !== undefined) this.max = inner.max;
    if (inner.database !== undefined) this.database = inner.database;
    if (inner.listen !== undefined) this.listen = inner.listen.bind(inner);
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    this.connects += 1;
    const { failure } = this;
    if (failure !== undefined) {
      this.failures -= 1;
      if (this.failures <= 0) {
        this.failure = undefined;
        this.failures = Number.POSITIVE_INFINITY;
      }
      throw failure;
    }
    this.inUse += 1;
    this.mostInUse = Math.max(this.mostInUse, this.inUse);
    const { gate } = this;
    if (gate !== undefined) await gate;
    const connection = await this.#inner
      .connect(gate === undefined ? signal : undefined)
      .catch((error: unknown) => {
        this.inUse -= 1;
        throw error;
      });
    const { guardClient, locks, pipeline } = connection;
    return {
      ...(locks && { locks }),
      query: (text, params) => connection.query(text, params),
      begin: () => connection.begin(),
      commit: () => connection.commit(),
      rollback: () => connection.rollback(),
      release: (error) => {
        this.inUse -= 1;
        return connection.release(error);
      },
      get client() {
        return connection.client;
      },
      ...(guardClient && { guardClient: guardClient.bind(connection) }),
      ...(pipeline && { pipeline: pipeline.bind(connection) }),
    };
  }
}
