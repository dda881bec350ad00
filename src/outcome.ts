import { type Delay, delayMsOf } from "./delay.ts";
import { isObject, shown } from "./options.ts";

/**
 * What a handler decides about its message. A handler that returns nothing acknowledges; one that throws
 * leaves it to the subscription's `onFailure`.
 */
export type Outcome = Ack | Retry | RetryAfter | Drop | DeadLetter;

/** Done: see {@link ack}. */
export interface Ack {
  readonly outcome: "ack";
}

/** Again, at once: see {@link retry}. */
export interface Retry {
  readonly outcome: "retry";
}

/** Again, later: see {@link retryAfter}. */
export interface RetryAfter {
  readonly outcome: "retryAfter";
  readonly delayMs: number;
}

/** Never again: see {@link drop}. */
export interface Drop {
  readonly outcome: "drop";
}

/** Elsewhere: see {@link deadLetter}. */
export interface DeadLetter {
  readonly outcome: "deadLetter";
  readonly reason?: string | Error;
}

/**
 * The message is done: its row is marked processed where the table has a column for that, else deleted.
 * Returning nothing means the same.
 *
 * @example
 * return ack();
 */
export function ack(): Ack {
  return ACK;
}

/**
 * The message comes again at once, its attempt counted.
 *
 * @example
 * if (!(await lock.taken())) return retry();
 */
export function retry(): Retry {
  return RETRY;
}

/**
 * The message comes again after a while, its attempt counted. On a table without a column for the due
 * time it comes again at once.
 *
 * @param delay milliseconds, or a number with a unit: "500ms", "30s", "5m", "2h", "1d".
 * @throws RangeError where the delay is none of these, is negative or past a hundred years.
 * @example
 * return retryAfter("5m");
 */
export function retryAfter(delay: Delay): RetryAfter {
  return Object.freeze({ outcome: "retryAfter", delayMs: delayMsOf("retryAfter", delay) });
}

/**
 * The message is given up: its row goes as an acknowledged one does, but what a transactional handler
 * wrote is rolled back.
 *
 * @example
 * if (order.cancelled) return drop();
 */
export function drop(): Drop {
  return DROP;
}

/**
 * The message goes where the subscription's `deadLetter` says, with the reason where that table has a
 * column for it.
 *
 * @throws TypeError where the reason is neither text nor an Error.
 * @example
 * return deadLetter("the address does not exist");
 */
export function deadLetter(reason?: string | Error): DeadLetter {
  if (reason === undefined) return DEAD_LETTER;
  if (typeof reason !== "string" && !(reason instanceof Error)) {
    throw new TypeError(`deadLetter takes a reason as text or an Error, not ${shown(reason)}`);
  }
  return Object.freeze({ outcome: "deadLetter", reason });
}

/** Whether a value is what one of the functions here answers, also of another copy of this module. */
export function isOutcome(value: unknown): value is Outcome {
  if (!isObject(value)) return false;
  switch (value.outcome) {
    case "ack":
    case "retry":
    case "drop":
      return true;
    case "retryAfter":
      return typeof value.delayMs === "number" && value.delayMs >= 0;
    case "deadLetter":
      return true;
    default:
      return false;
  }
}

const ACK: Ack = Object.freeze({ outcome: "ack" });
const RETRY: Retry = Object.freeze({ outcome: "retry" });
const DROP: Drop = Object.freeze({ outcome: "drop" });
const DEAD_LETTER: DeadLetter = Object.freeze({ outcome: "deadLetter" });
