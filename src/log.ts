import type { LogEvent } from "./log-events.ts";
import { sanitize, sanitizeError } from "./redact.ts";

/** Anything with these three methods is a logger: `console`, pino behind a two-line wrapper, winston. */
export interface Logger {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

export type LogLevel = keyof Logger;

/** The fields of a line. `event` names the line for good; `error` may be anything that was thrown. */
export interface LogFields {
  readonly event: LogEvent;
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

/**
 * The only way to the user's logger: redacts every text, and never throws, since a logger that fails
 * must not change what happens to a row. Prints nothing where there is no logger.
 */
export class Log {
  readonly #logger: Logger | undefined;

  constructor(logger?: Logger) {
    this.#logger = logger;
  }

  info(message: string, fields: LogFields): void {
    this.#write("info", message, fields);
  }

  warn(message: string, fields: LogFields): void {
    this.#write("warn", message, fields);
  }

  error(message: string, fields: LogFields): void {
    this.#write("error", message, fields);
  }

  #write(level: LogLevel, message: string, fields: LogFields): void {
    if (this.#logger === undefined) return;
    try {
      const answer: unknown = this.#logger[level](sanitize(message), redactFields(fields));
      // An async method fits a void signature too, and its rejection would end the process.
      if (answer instanceof Promise) answer.catch(() => {});
    } catch {
      // Nothing to do: the place to report it is the thing that failed.
    }
  }
}

function redactFields(fields: LogFields): Record<string, unknown> {
  const redacted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (name === "error") redacted[name] = sanitizeError(value);
    else redacted[name] = typeof value === "string" && name !== "event" ? sanitize(value) : value;
  }
  return redacted;
}
