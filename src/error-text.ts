/**
 * The text of whatever was thrown, for `last_error` and for logs: it says something useful about any
 * value and never throws, however hostile the value (throwing getters, proxies, cycles).
 *
 *     error: deadlock detected (code 40P01)
 *     Error: order 7 failed | caused by AggregateError: 2 hosts failed [Error: a; Error: b]
 *     non-error value undefined
 *
 * Each part is redacted by itself before they are joined, so that the value of a key at the end of one
 * message does not swallow what comes next; the whole is sanitized once more, with the cut.
 */
import { plainText } from "./error-text/plain-text.ts";
import { isObject, read, readString } from "./error-text/safe-read.ts";
import { redact, sanitize } from "./redact/sanitize.ts";

/** How far a chain of causes is followed, the error itself not counted. */
const MAX_CAUSES = 5;
/** How many members of an aggregate are described. */
const MAX_MEMBERS = 5;
/** How many errors one text describes: aggregates of aggregates would multiply. */
const MAX_ERRORS = 40;

/**
 * The name, message and driver's code of an error and of up to 5 causes, joined by ` | caused by `,
 * with the members of each `AggregateError`. Values that are no errors are described as well.
 * Secrets are masked and the text is cut as by `sanitize`. Never throws.
 *
 * @example
 * sanitizeError(new Error("order failed", { cause: new TypeError("password=hunter2 refused") }));
 * // "Error: order failed | caused by TypeError: password=[REDACTED] refused"
 */
export function sanitizeError(error: unknown): string {
  return sanitize(new Description().chain(error));
}

/** One walk over an error, its causes and its members, each described once. */
class Description {
  readonly #seen = new Set<object>();
  #left = MAX_ERRORS;

  chain(error: unknown): string {
    const links: string[] = [];
    let link = error;
    do {
      links.push(this.#one(link));
      link = isObject(link) ? read(link, "cause") : undefined;
    } while (
      links.length <= MAX_CAUSES &&
      link !== undefined &&
      link !== null &&
      this.#isNew(link)
    );
    return links.join(" | caused by ");
  }

  #isNew(value: unknown): boolean {
    return !isObject(value) || !this.#seen.has(value);
  }

  #one(value: unknown): string {
    this.#left -= 1;
    if (!isObject(value)) return redact(primitiveText(value));
    this.#seen.add(value);
    return objectText(value) + this.#members(value);
  }

  #members(error: object): string {
    const errors = read(error, "errors");
    const count = isObject(errors) && isErrorLike(error) ? read(errors, "length") : undefined;
    if (!isObject(errors) || typeof count !== "number" || !(count > 0)) return "";

    const texts: string[] = [];
    let index = 0;
    for (; index < count && index < MAX_MEMBERS && this.#left > 0; index += 1) {
      const member = read(errors, index);
      if (this.#isNew(member)) texts.push(this.chain(member));
    }
    if (index < count) texts.push(`${count - index} more`);
    return texts.length === 0 ? "" : ` [${texts.join("; ")}]`;
  }
}

function primitiveText(value: unknown): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  return `non-error value ${plainText(value)}`;
}

function objectText(value: object): string {
  if (!isErrorLike(value)) return redact(`non-error value ${plainText(value)}`);

  const name = readString(value, "name") ?? "";
  const message = read(value, "message");
  const text = typeof message === "string" ? message : unreadableMessage(message);
  const head = [name, text].filter((part) => part !== "").join(": ");
  return redact(head === "" ? "Error" : head) + redact(codeText(value, head));
}

function unreadableMessage(message: unknown): string {
  return message === undefined ? "(without a readable message)" : plainText(message);
}

/** A driver's code, unless the message has it already (`connect ECONNREFUSED 127.0.0.1:5432`). */
function codeText(error: object, head: string): string {
  const code = read(error, "code");
  if (typeof code === "number" || typeof code === "bigint") return ` (code ${code})`;
  if (typeof code !== "string" || code === "" || head.includes(code)) return "";
  return ` (code ${code})`;
}

/** No `instanceof` alone: an error may come from another realm, or be an object shaped like one. */
function isErrorLike(value: object): boolean {
  if (typeof read(value, "message") === "string") return true;
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
  } catch {
    return false;
  }
}
