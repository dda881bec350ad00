import { setMaxListeners } from "node:events";
import type { InboxHandler } from "../queuebox/types.ts";
import { markedMethods } from "./handler.ts";
import { type NamedWorker, repeatedName } from "./options.ts";
import type { DiscoveryService, InstanceWrapperLike } from "./peer.js";

/** Known by it to the hosts of every copy of this module. */
const KIND = "intray.nestjs.host";

/**
 * The workers of one `forRoot`, by the application's hooks: once all providers are made it finds their
 * handlers, at bootstrap it starts them, and at the first hook of the shutdown it stops them and waits.
 */
export class InboxHost {
  readonly kind: string = KIND;
  readonly #discovery: DiscoveryService;
  readonly #workers: readonly NamedWorker[];
  readonly #onFailure: ((error: unknown, worker: string) => void) | undefined;
  readonly #stop = new AbortController();
  #handlers: ReadonlyMap<string, InboxHandler> = new Map();
  #running: Promise<void>[] = [];

  constructor(
    discovery: DiscoveryService,
    workers: readonly NamedWorker[],
    onFailure?: (error: unknown, worker: string) => void,
  ) {
    // One listener for each worker.
    setMaxListeners(0, this.#stop.signal);
    this.#discovery = discovery;
    this.#workers = workers;
    this.#onFailure = onFailure;
  }

  get names(): string[] {
    return this.#workers.map(({ name }) => name);
  }

  /** Before anything starts, so that a mistake costs no message. */
  onModuleInit(): void {
    const wrappers = [...this.#discovery.getProviders(), ...this.#discovery.getControllers()];
    checkNames(wrappers);
    this.#handlers = findHandlers(wrappers, this.names);
  }

  onApplicationBootstrap(): void {
    this.#running = this.#workers.map(async ({ name, worker }) => {
      const handler = this.#handlers.get(name);
      if (handler === undefined) return;
      try {
        await worker.run(handler, this.#stop.signal);
      } catch (error) {
        this.#report(error, name);
      }
    });
  }

  /** The first hook of a shutdown: connections and what handlers use are still there. */
  async onModuleDestroy(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  #report(error: unknown, worker: string): void {
    const onFailure = this.#onFailure;
    // Out of the promise: whoever is told may throw, and that must not stop the shutdown.
    setImmediate(() => {
      if (onFailure === undefined) throw error;
      onFailure(error, worker);
    });
  }
}

/** Also across the hosts of several `forRoot`. */
function checkNames(wrappers: readonly InstanceWrapperLike[]): void {
  const hosts = new Set(wrappers.map(({ instance }) => instance).filter(isHost));
  const names = [...hosts].flatMap((host) => host.names);
  const known = new Set<string>();
  for (const name of names) {
    if (known.has(name)) throw repeatedName(name);
    known.add(name);
  }
  for (const { instance } of wrappers) {
    for (const { worker, method } of marksOf(instance)) {
      if (known.has(worker)) continue;
      throw new RangeError(
        `@InboxHandler("${worker}") of ${nameOf(instance)}.${String(method)}: there is no worker "${worker}"; there are ${[...known].join(", ")}`,
      );
    }
  }
}

function findHandlers(
  wrappers: readonly InstanceWrapperLike[],
  names: readonly string[],
): ReadonlyMap<string, InboxHandler> {
  const handlers = new Map<string, InboxHandler>();
  const owners = new Map<string, string>();
  // A provider can be seen from several modules, and then is one instance with several wrappers.
  const seen = new Set<unknown>();
  for (const wrapper of wrappers) {
    const { instance } = wrapper;
    if (seen.has(instance)) continue;
    for (const { worker, method } of marksOf(instance)) {
      if (!names.includes(worker)) continue;
      const place = `${nameOf(instance)}.${String(method)}`;
      if (!wrapper.isDependencyTreeStatic()) {
        throw new TypeError(
          `@InboxHandler("${worker}"): ${nameOf(instance)} is made anew for each request, and a message is none: a handler must be a singleton, and so must all that it injects`,
        );
      }
      const other = owners.get(worker);
      if (other !== undefined) {
        throw new RangeError(`the worker "${worker}" has two handlers: ${other} and ${place}`);
      }
      owners.set(worker, place);
      handlers.set(worker, handlerOf(instance, method, place));
      seen.add(instance);
    }
  }
  for (const name of names) {
    if (handlers.has(name)) continue;
    throw new RangeError(
      `the worker "${name}" has no handler: put @InboxHandler("${name}") before a provider with a method handle, or before a method of one`,
    );
  }
  return handlers;
}

function handlerOf(instance: unknown, method: string | symbol, place: string): InboxHandler {
  const found: unknown = Reflect.get(Object(instance), method);
  if (typeof found !== "function") throw new TypeError(`${place} is no method`);
  // Read anew for each message, so that a test can put a spy in its place.
  return (message, tx, signal) =>
    Reflect.apply(Reflect.get(Object(instance), method), instance, [message, tx, signal]);
}

/** By its class, so that it does not matter whether Nest or a factory made it. */
function marksOf(instance: unknown): ReturnType<typeof markedMethods> {
  const made = classOf(instance);
  return made === undefined ? [] : markedMethods(made);
}

function nameOf(instance: unknown): string {
  return classOf(instance)?.name ?? "a provider";
}

function classOf(instance: unknown): { readonly name: string } | undefined {
  if (typeof instance !== "object" || instance === null) return undefined;
  const made: unknown = Object.getPrototypeOf(instance)?.constructor;
  return typeof made === "function" ? made : undefined;
}

function isHost(value: unknown): value is InboxHost {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === KIND;
}
