import { type Clock, MAX_TIMER_MS, systemClock } from "../clock.ts";
import { checkInboxSchema, defaultSchema, type InboxSchema } from "../dialect/inbox-schema.ts";
import type { Logger } from "../log.ts";
import {
  checkBoolean,
  checkKnownKeys,
  checkNumber,
  checkWord,
  hasMethods,
  isObject,
  MAX_INT32,
  shown,
} from "../options.ts";
import { defaultRetryPolicy } from "./failure-action.ts";
import type { PayloadOption } from "./message.ts";
import type { InboxRetryDecision, InboxRetryPolicy, SqlDialect } from "./types.ts";

/** Settings of an {@link InboxWorker}. Only `source` must be given. */
export interface InboxOptions<Payload extends PayloadOption = PayloadOption> {
  /** The source whose messages this worker takes; other sources are left alone. */
  readonly source: string;
  /** The most messages in hand at once, running and waiting. Default 10. */
  readonly batchSize?: number;
  /** How long a claim holds a message between renewals, in whole milliseconds, 3 or more. Default 30000. */
  readonly leaseMs?: number;
  /** Handlers side by side; at most the batch size counts. Default 1. */
  readonly maxConcurrency?: number;
  /** Wait after a claim that found too little, in milliseconds. Default 1000. */
  readonly pollIntervalMs?: number;
  /** How long handlers may go on after a stop, in milliseconds; 0 cuts them at once. Default 30000. */
  readonly shutdownGraceMs?: number;
  /** Default "postgresql". */
  readonly dialect?: SqlDialect;
  /** Names of the table and its columns where they differ from {@link defaultSchema}. */
  readonly schema?: InboxSchema;
  /** Decides about failed messages. Default {@link defaultRetryPolicy}. */
  readonly retryPolicy?: InboxRetryPolicy;
  /** Where log lines go. Default nowhere. */
  readonly logger?: Logger;
  /**
   * What becomes of a message whose handler was cut off by a shutdown: "expire" leaves it to its
   * lease, "release" makes it claimable as soon as its handler has ended. Neither spends an attempt,
   * but with `chargeExpired` a lease left to expire does. Default "expire", with `chargeExpired`
   * "release".
   */
  readonly abandon?: "expire" | "release";
  /**
   * Counts an attempt for a message whose lease expired, so that one which kills its workers reaches
   * the retry policy's ceiling. Default false: as the contract of the inbox says, a crash is free.
   */
  readonly chargeExpired?: boolean;
  /**
   * Listens for the notifications of the trigger that `intray queuebox ddl --listen-notify` prints,
   * so that a new message is claimed at once. Takes one connection. Default false.
   */
  readonly listenNotify?: boolean;
  /**
   * How payloads are read: "json", "text" for the stored text, or a Standard Schema (zod, valibot,
   * arktype...), which also types `message.payload`. A payload that does not fit fails its message.
   * Default "json".
   */
  readonly payload?: Payload;
  /**
   * Prepares what handlers send through `tx.query` and `tx.sql` once on each connection, by name, where
   * the source can. Saves parsing and planning; after a change of a table that such a statement reads,
   * the first message on each connection may fail once. Default false.
   */
  readonly prepareStatements?: boolean;
  /** Timers and monotonic time. Default the host's. */
  readonly clock?: Clock;
}

/** What {@link resolveOptions} answers: every setting as it counts. */
export interface ResolvedInboxOptions {
  readonly source: string;
  readonly batchSize: number;
  readonly leaseMs: number;
  /** Never more than `batchSize`. */
  readonly maxConcurrency: number;
  /** A third of the lease. */
  readonly renewIntervalMs: number;
  readonly pollIntervalMs: number;
  readonly shutdownGraceMs: number;
  readonly dialect: SqlDialect;
  readonly schema: InboxSchema;
  readonly retryPolicy: InboxRetryDecision;
  readonly logger: Logger | undefined;
  readonly abandon: "expire" | "release";
  readonly chargeExpired: boolean;
  readonly listenNotify: boolean;
  readonly payload: PayloadOption;
  readonly prepareStatements: boolean;
  readonly clock: Clock;
}

const KNOWN: readonly (keyof InboxOptions)[] = [
  "source",
  "batchSize",
  "leaseMs",
  "maxConcurrency",
  "pollIntervalMs",
  "shutdownGraceMs",
  "dialect",
  "schema",
  "retryPolicy",
  "logger",
  "abandon",
  "chargeExpired",
  "listenNotify",
  "payload",
  "prepareStatements",
  "clock",
];

/**
 * The settings with defaults filled in; what a worker would run with.
 *
 * @throws TypeError or RangeError that names the option, what it takes, and the value that it got.
 * @example
 * resolveOptions({ source: "orders", batchSize: 4, maxConcurrency: 8 }).maxConcurrency; // 4
 */
export function resolveOptions(options: InboxOptions): ResolvedInboxOptions {
  const given = checkKnownKeys("InboxOptions", options, KNOWN);
  const timer = { min: 1, max: MAX_TIMER_MS };
  const batchSize = checkNumber("batchSize", given.batchSize ?? 10, { min: 1, max: MAX_BATCH });
  const leaseMs = checkNumber("leaseMs", given.leaseMs ?? 30_000, { ...timer, min: 3 });
  const concurrency = checkNumber("maxConcurrency", given.maxConcurrency ?? 1, {
    min: 1,
    max: MAX_INT32,
  });
  const chargeExpired = checkBoolean("chargeExpired", given.chargeExpired ?? false);
  return {
    source: checkSource(given.source),
    batchSize,
    leaseMs,
    maxConcurrency: Math.min(concurrency, batchSize),
    renewIntervalMs: Math.floor(leaseMs / 3),
    pollIntervalMs: checkNumber("pollIntervalMs", given.pollIntervalMs ?? 1000, timer),
    shutdownGraceMs: checkNumber("shutdownGraceMs", given.shutdownGraceMs ?? 30_000, {
      ...timer,
      min: 0,
    }),
    dialect: checkWord("dialect", given.dialect ?? "postgresql", ["postgresql", "sqlserver"]),
    schema: checkInboxSchema(given.schema ?? defaultSchema),
    retryPolicy: checkPolicy(given.retryPolicy ?? defaultRetryPolicy()),
    logger: checkLogger(given.logger),
    abandon: checkWord("abandon", given.abandon ?? (chargeExpired ? "release" : "expire"), [
      "expire",
      "release",
    ]),
    chargeExpired,
    listenNotify: checkBoolean("listenNotify", given.listenNotify ?? false),
    payload: checkPayload(given.payload),
    prepareStatements: checkBoolean("prepareStatements", given.prepareStatements ?? false),
    clock: checkClock(given.clock ?? systemClock),
  };
}

/** More in hand than this is a mistake, and a claim's plan no longer fits it. */
const MAX_BATCH = 100_000;

function checkSource(value: unknown): string {
  const takes = "source takes the name of a message source, a text that is not blank";
  if (typeof value !== "string") throw new TypeError(`${takes}, not ${shown(value)}`);
  if (value.trim() === "") throw new RangeError(`${takes}, not ${shown(value)}`);
  if (value.includes("\u0000")) throw new RangeError(`${takes} and holds no NUL character`);
  return value;
}

function checkPolicy(value: unknown): InboxRetryDecision {
  if (typeof value === "function") return (message, failure) => value(message, failure);
  if (isPolicyObject(value)) return (message, failure) => value.decide(message, failure);
  throw new TypeError(
    `retryPolicy takes a function (message, failure) => action, or an object with a method decide, not ${shown(value)}`,
  );
}

function isPolicyObject(value: unknown): value is { decide: InboxRetryDecision } {
  return hasMethods(value, ["decide"]);
}

function checkLogger(value: unknown): Logger | undefined {
  if (value === undefined || isLogger(value)) return value;
  throw new TypeError(`logger takes an object with info, warn and error, not ${shown(value)}`);
}

function isLogger(value: unknown): value is Logger {
  return hasMethods(value, ["info", "warn", "error"]);
}

function checkPayload(value: unknown): PayloadOption {
  if (value === undefined || value === "json" || value === "text") return value;
  if (isSchema(value)) return value;
  throw new TypeError(`payload takes "json", "text" or a Standard Schema, not ${shown(value)}`);
}

function isSchema(value: unknown): value is Exclude<PayloadOption, string | undefined> {
  if (!isObject(value) && typeof value !== "function") return false;
  const holder: object = value;
  return hasMethods(Reflect.get(holder, "~standard"), ["validate"]);
}

function checkClock(value: unknown): Clock {
  if (isClock(value)) return value;
  throw new TypeError(`clock takes an object with monotonic and setTimer, not ${shown(value)}`);
}

function isClock(value: unknown): value is Clock {
  return isObject(value) && hasMethods(value, ["monotonic", "setTimer"]);
}
