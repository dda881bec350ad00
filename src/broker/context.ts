import type { HandlerFacade } from "../form/handler-transaction.ts";
import type { Log } from "../log.ts";
import type { Headers } from "./headers.ts";
import type { MessageOptions } from "./messages.ts";

/** What a handler knows of the delivery beside its message. */
export interface HandlerContext<Id = unknown> {
  /** The row's id, as its column's type has it: a bigint never loses a digit. */
  readonly id: Id;
  /** The queue's name: its group, or its table's name. */
  readonly queue: string;
  /** The row's group; undefined on a table without groups. */
  readonly group: string | undefined;
  /** 1 on the first delivery, one more on each later one; undefined where the table counts none. */
  readonly attempt: number | undefined;
  /** Text by name; empty where the row has none. */
  readonly headers: Headers;
  /** What rows share that wait for each other: a fifo group, a lock key, else the partition key. */
  readonly key: string | undefined;
  /**
   * Aborts when the row is lost, or a shutdown's grace is over: end soon then, nothing of this delivery
   * will be settled.
   */
  readonly signal: AbortSignal;
  /** Lines of the handler's own in the broker's log, with the delivery's fields. Redacted as all lines. */
  readonly log: HandlerLog;
}

export interface HandlerLog {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Writes an answer to the queue that the subscription's `reply` names. */
export type Reply<Message = unknown> = (
  message: Message,
  options?: MessageOptions,
) => Promise<void>;

/** What {@link DeliveryContext} is made of. */
export interface ContextParts {
  readonly id: unknown;
  readonly queue: string;
  readonly group: string | undefined;
  readonly attempt: number | undefined;
  readonly key: string | undefined;
  readonly signal: AbortSignal;
  /** Read at the first use where it is a function. */
  readonly headers: Headers | (() => Headers);
  readonly tx?: HandlerFacade | undefined;
  readonly reply?: Reply | undefined;
  readonly log: Log;
  readonly fields: Record<string, unknown>;
}

/** The context of one row; its headers may be read later than the rest. */
export class DeliveryContext implements HandlerContext {
  readonly id: unknown;
  readonly queue: string;
  readonly group: string | undefined;
  readonly attempt: number | undefined;
  readonly key: string | undefined;
  readonly signal: AbortSignal;
  declare readonly tx?: HandlerFacade;
  declare readonly reply?: Reply;
  readonly #log: Log;
  readonly #fields: Record<string, unknown>;
  #headers: Headers | (() => Headers);

  constructor(parts: ContextParts) {
    this.id = parts.id;
    this.queue = parts.queue;
    this.group = parts.group;
    this.attempt = parts.attempt;
    this.key = parts.key;
    this.signal = parts.signal;
    if (parts.tx !== undefined) this.tx = parts.tx;
    if (parts.reply !== undefined) this.reply = parts.reply;
    this.#headers = parts.headers;
    this.#log = parts.log;
    this.#fields = parts.fields;
  }

  get headers(): Headers {
    if (typeof this.#headers === "function") this.#headers = this.#headers();
    return this.#headers;
  }

  get log(): HandlerLog {
    return handlerLog(this.#log, { ...this.#fields, id: this.id, attempt: this.attempt });
  }
}

export function handlerLog(log: Log, own: Record<string, unknown>): HandlerLog {
  return {
    info: (message, fields) => log.info(message, { ...own, ...fields, event: "handler" }),
    warn: (message, fields) => log.warn(message, { ...own, ...fields, event: "handler" }),
    error: (message, fields) => log.error(message, { ...own, ...fields, event: "handler" }),
  };
}
