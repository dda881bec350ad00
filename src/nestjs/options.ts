import { checkKnownKeys, hasMethods, isObject, shown } from "../options.ts";
import { InboxWorker } from "../queuebox/inbox-worker.ts";
import type { InboxOptions } from "../queuebox/options.ts";
import type { InboxConnectionSource, InboxLogger } from "../queuebox/types.ts";

/** A worker of the application: the settings of an `InboxWorker`, and a name. */
export interface NamedInboxOptions extends InboxOptions {
  /** What `@InboxHandler` calls it. Unique in the application. */
  readonly name: string;
  /** Where this worker's connections come from. Default the module's. */
  readonly connections?: InboxConnectionSource;
}

/** Settings of a {@link QueueBoxInboxModule}. */
export interface QueueBoxInboxOptions {
  /** Where connections come from, such as `fromPg(pool)`; its owner ends it, after the workers. */
  readonly connections?: InboxConnectionSource;
  /** One or more; each needs an `@InboxHandler` with its name. */
  readonly workers: readonly NamedInboxOptions[];
  /** For workers without a logger of their own. Default Nest's `Logger`; false: none. */
  readonly logger?: InboxLogger | false;
  /**
   * Told when a worker ends by an error, such as a missing table: outages do not end one. Default:
   * the error is an uncaught exception, which ends the process, since nobody works the inbox any more.
   */
  readonly onFailure?: (error: unknown, worker: string) => void;
}

/** A worker that is ready to run. */
export interface NamedWorker {
  readonly name: string;
  readonly worker: InboxWorker<"json" | "text" | undefined>;
}

/**
 * Makes the workers; each checks its own settings.
 *
 * @throws TypeError or RangeError that names the worker, the option, what it takes, and the value.
 */
export function makeWorkers(
  options: QueueBoxInboxOptions,
  defaultLogger: InboxLogger | undefined,
): NamedWorker[] {
  const given = checkKnownKeys("QueueBoxInboxModule", options, [
    "connections",
    "workers",
    "logger",
    "onFailure",
  ]);
  if (given.onFailure !== undefined && typeof given.onFailure !== "function") {
    throw new TypeError(`onFailure takes a function, not ${shown(given.onFailure)}`);
  }
  if (!Array.isArray(given.workers) || given.workers.length === 0) {
    throw new TypeError(
      `workers takes a list of one or more workers, each with a name, not ${shown(given.workers)}`,
    );
  }
  const names = new Set<string>();
  return options.workers.map((settings) => {
    const name = checkName(settings, names);
    const { name: _, connections = options.connections, ...own } = settings;
    const logger = options.logger === false ? undefined : (options.logger ?? defaultLogger);
    return { name, worker: makeWorker(name, connections, { ...(logger && { logger }), ...own }) };
  });
}

/** @throws RangeError where two workers have one name. */
export function repeatedName(name: string): RangeError {
  return new RangeError(
    `there are two workers "${name}": each needs a name of its own in the application`,
  );
}

function checkName(settings: unknown, names: Set<string>): string {
  const name = isObject(settings) ? settings.name : undefined;
  if (typeof name !== "string" || name.trim() === "") {
    throw new TypeError(
      `a worker's name takes a text that is not blank, not ${shown(isObject(settings) ? name : settings)}`,
    );
  }
  if (names.has(name)) throw repeatedName(name);
  names.add(name);
  return name;
}

function makeWorker(
  name: string,
  connections: InboxConnectionSource | undefined,
  options: InboxOptions,
): NamedWorker["worker"] {
  try {
    if (!hasMethods(connections, ["connect"])) {
      throw new TypeError(
        `connections takes a connection source such as fromPg(pool), for the module or for the worker, not ${shown(connections)}`,
      );
    }
    return new InboxWorker(connections, options);
  } catch (error) {
    // Of several workers, whose setting it is matters as much as which.
    if (error instanceof Error) error.message = `worker "${name}": ${error.message}`;
    throw error;
  }
}
