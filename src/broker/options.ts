import { type Clock, MAX_TIMER_MS, systemClock } from "../clock.ts";
import type { Logger } from "../log.ts";
import {
  checkBoolean,
  checkKnownKeys,
  checkNumber,
  hasMethods,
  isObject,
  MAX_INT32,
  shown,
} from "../options.ts";
import { isOutcome } from "../outcome.ts";
import { DEFAULT_RETRY_DELAYS, MAX_DELAY_MS, type RetryDelays } from "../retry.ts";
import { type TableDescription, tableLabel } from "../table/description.ts";
import type { QueueDescription } from "../table/queue.ts";
import { type DeadLetterPlan, deadLetterPlan } from "./dead-letter.ts";
import type { FailurePolicy } from "./policies.ts";
import { rules } from "./rules.ts";
import type { BrokerOptions, SubscribeOptions } from "./types.ts";

/** A broker's settings as they count. */
export interface ResolvedBrokerOptions {
  readonly logger: Logger | undefined;
  readonly clock: Clock;
  readonly pollIntervalMs: number;
  readonly leaseMs: number;
  readonly listenNotify: boolean;
  readonly shutdownGraceMs: number;
  readonly prepareStatements: boolean;
}

/** A subscription's settings as they count. */
export interface ResolvedSubscription {
  readonly name: string;
  readonly workers: number;
  readonly lanes: boolean;
  /** Undefined: one row, and no list. */
  readonly batch: number | undefined;
  readonly prefetch: number;
  readonly transactional: boolean;
  readonly leaseMs: number;
  readonly pollIntervalMs: number;
  readonly maxAttempts: number | undefined;
  readonly deadLetter: DeadLetterPlan | undefined;
  readonly onFailure: {
    readonly throw: FailurePolicy | undefined;
    readonly decode: FailurePolicy | undefined;
  };
  readonly retryDelays: RetryDelays;
  readonly reply: QueueDescription | undefined;
}

const BROKER_OPTIONS: readonly (keyof BrokerOptions)[] = [
  "dialect",
  "logger",
  "clock",
  "pollIntervalMs",
  "leaseMs",
  "listenNotify",
  "shutdownGraceMs",
  "prepareStatements",
];

const SUBSCRIBE_OPTIONS: readonly (keyof SubscribeOptions)[] = [
  "name",
  "workers",
  "workersByKey",
  "batch",
  "prefetch",
  "transactional",
  "leaseMs",
  "pollIntervalMs",
  "maxAttempts",
  "deadLetter",
  "deadLetterColumns",
  "onFailure",
  "retry",
  "reply",
];

const TIMER = { min: 1, max: MAX_TIMER_MS };
const LEASE = { min: 10, max: MAX_TIMER_MS };

/** @throws TypeError or RangeError that names the option, what it takes, and the value that it got. */
export function resolveBrokerOptions(options: unknown): ResolvedBrokerOptions {
  const given = checkKnownKeys("BrokerOptions", options, BROKER_OPTIONS);
  const grace = given.shutdownGraceMs ?? 30_000;
  return {
    logger: checkLogger(given.logger),
    clock: checkClock(given.clock ?? systemClock),
    pollIntervalMs: checkNumber("pollIntervalMs", given.pollIntervalMs ?? 1000, TIMER),
    leaseMs: checkNumber("leaseMs", given.leaseMs ?? 30_000, LEASE),
    listenNotify: checkBoolean("listenNotify", given.listenNotify ?? false),
    shutdownGraceMs: checkGrace("shutdownGraceMs", grace),
    prepareStatements: checkBoolean("prepareStatements", given.prepareStatements ?? false),
  };
}

export function checkGrace(name: string, value: unknown): number {
  return checkNumber(name, value, { ...TIMER, min: 0 });
}

/**
 * @throws TypeError, RangeError or TableError that names the option, what it takes, and what it got.
 */
export function resolveSubscription(
  queue: QueueDescription,
  options: unknown,
  broker: ResolvedBrokerOptions,
): ResolvedSubscription {
  const given = checkKnownKeys(`the subscription to ${queue.name}`, options, SUBSCRIBE_OPTIONS);
  const { table } = queue;
  const label = tableLabel(table);
  const isLease = table.form === "lease";
  for (const option of ["leaseMs", "prefetch"] as const) {
    if (!isLease && given[option] !== undefined) {
      throw new TypeError(`${option} of ${label}: ${rules.lease}`);
    }
  }
  const workers = checkWorkers(table, given);
  const lanes = given.workersByKey !== undefined;
  const deadLetter = checkDeadLetter(queue, given);
  return {
    name: checkName(given.name ?? queue.name),
    workers,
    lanes,
    batch: given.batch === undefined ? undefined : checkNumber("batch", given.batch, MANY),
    prefetch: checkNumber("prefetch", given.prefetch ?? (lanes && isLease ? workers : 0), {
      ...MANY,
      min: 0,
    }),
    transactional: checkBoolean("transactional", given.transactional ?? false),
    leaseMs: checkNumber("leaseMs", given.leaseMs ?? broker.leaseMs, LEASE),
    pollIntervalMs: checkNumber(
      "pollIntervalMs",
      given.pollIntervalMs ?? broker.pollIntervalMs,
      TIMER,
    ),
    maxAttempts: checkMaxAttempts(table, given.maxAttempts, deadLetter),
    deadLetter,
    onFailure: checkOnFailure(given.onFailure),
    retryDelays: checkRetry(given.retry),
    reply: checkReply(given.reply),
  };
}

const MANY = { min: 1, max: 10_000 };

function checkName(value: unknown): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  throw new TypeError(`name takes a text that is not blank, not ${shown(value)}`);
}

function checkWorkers(table: TableDescription, given: Record<string, unknown>): number {
  const { batch, workers, workersByKey } = given;
  if (workersByKey === undefined) return checkNumber("workers", workers ?? 1, MANY);
  if (workers !== undefined) {
    throw new TypeError(rules.keyOrWorkers);
  }
  if (batch !== undefined) {
    throw new TypeError(rules.keyOrBatch);
  }
  if (table.roles.partitionKey === undefined) {
    throw new TypeError(`${tableLabel(table)}: ${rules.key}`);
  }
  return checkNumber("workersByKey", workersByKey, MANY);
}

function checkDeadLetter(
  queue: QueueDescription,
  given: Record<string, unknown>,
): DeadLetterPlan | undefined {
  const { deadLetter, deadLetterColumns } = given;
  if (deadLetter === undefined) {
    if (deadLetterColumns === undefined) return undefined;
    throw new TypeError(rules.columnsGoSomewhere);
  }
  const to = placeOf(deadLetter);
  if (to === undefined) {
    throw new TypeError(`deadLetter takes a queue or a table, not ${shown(deadLetter)}`);
  }
  return deadLetterPlan(queue, to, checkColumns(deadLetterColumns));
}

/** What a queue or a table says of itself. */
function placeOf(value: unknown): QueueDescription | TableDescription | undefined {
  if (isQueue(value)) return value;
  if (!isObject(value) && typeof value !== "function") return undefined;
  const holder: object = value;
  const description: unknown = Reflect.get(holder, "description");
  return isTable(description) ? description : undefined;
}

function isTable(value: unknown): value is TableDescription {
  return isObject(value) && Array.isArray(value.columns) && isObject(value.roles);
}

function isQueue(value: unknown): value is QueueDescription {
  return isObject(value) && typeof value.groups === "string" && isTable(value.table);
}

function checkColumns(value: unknown): Readonly<Record<string, string | null>> {
  if (value === undefined) return {};
  const takes = "deadLetterColumns takes an object of property: property there, or null";
  if (!isObject(value)) throw new TypeError(`${takes}, not ${shown(value)}`);
  const columns: Record<string, string | null> = {};
  for (const [property, to] of Object.entries(value)) {
    if (to !== null && typeof to !== "string") {
      throw new TypeError(`${takes}; "${property}" is ${shown(to)}`);
    }
    columns[property] = to;
  }
  return columns;
}

function checkMaxAttempts(
  table: TableDescription,
  value: unknown,
  deadLetter: DeadLetterPlan | undefined,
): number | undefined {
  if (value === undefined) return undefined;
  const maxAttempts = checkNumber("maxAttempts", value, { min: 1, max: MAX_INT32 });
  if (table.roles.attempt === undefined) {
    throw new TypeError(`${tableLabel(table)}: ${rules.attempts}`);
  }
  if (deadLetter === undefined) {
    throw new TypeError(rules.attemptsGoSomewhere);
  }
  return maxAttempts;
}

function checkOnFailure(value: unknown): ResolvedSubscription["onFailure"] {
  const given = checkKnownKeys("onFailure", value ?? {}, ["throw", "decode"]);
  return {
    throw: checkPolicy("onFailure.throw", given.throw),
    decode: checkPolicy("onFailure.decode", given.decode),
  };
}

function checkPolicy(name: string, value: unknown): FailurePolicy | undefined {
  if (value === undefined || isOutcome(value) || isPolicy(value)) return value;
  throw new TypeError(
    `${name} takes an outcome such as drop(), or a function (error, context) => outcome, not ${shown(value)}`,
  );
}

function isPolicy(value: unknown): value is Exclude<FailurePolicy, object & { outcome: string }> {
  return typeof value === "function";
}

function checkRetry(value: unknown): RetryDelays {
  const given = checkKnownKeys("retry", value ?? {}, ["baseDelayMs", "maxDelayMs", "jitter"]);
  const { baseDelayMs, jitter, maxDelayMs } = { ...DEFAULT_RETRY_DELAYS, ...given };
  const delay = { min: 0, max: MAX_DELAY_MS };
  return {
    baseDelayMs: checkNumber("retry.baseDelayMs", baseDelayMs, delay),
    maxDelayMs: checkNumber("retry.maxDelayMs", maxDelayMs, delay),
    jitter: checkNumber("retry.jitter", jitter, { min: 0, max: 1, whole: false }),
  };
}

function checkReply(value: unknown): QueueDescription | undefined {
  if (value === undefined) return undefined;
  return queueDescription("reply", value);
}

/** @throws TypeError where the value is no queue. */
export function queueDescription(name: string, value: unknown): QueueDescription {
  if (isQueue(value)) return value;
  throw new TypeError(`${name} takes a queue, such as table.queue("emails"), not ${shown(value)}`);
}

function checkLogger(value: unknown): Logger | undefined {
  if (value === undefined || isLogger(value)) return value;
  throw new TypeError(`logger takes an object with info, warn and error, not ${shown(value)}`);
}

function isLogger(value: unknown): value is Logger {
  return hasMethods(value, ["info", "warn", "error"]);
}

function checkClock(value: unknown): Clock {
  if (isClock(value)) return value;
  throw new TypeError(`clock takes an object with monotonic and setTimer, not ${shown(value)}`);
}

function isClock(value: unknown): value is Clock {
  return hasMethods(value, ["monotonic", "setTimer"]);
}
