/**
 * A short text of a value that is no error, in the manner of JSON: `{"id":7,"tags":["a"]}`. Unlike
 * `JSON.stringify` it never throws (cycles, bigints, getters, proxies, depth), calls no `toJSON`, ends
 * soon on a large value, and masks what is behind a secret key whatever its type: of
 * `{"token":["a"]}` the text redaction could not tell where the value ends.
 */

import { REDACTED } from "../redact/characters.ts";
import { isSecretKey } from "../redact/key-values.ts";
import { redact } from "../redact/sanitize.ts";
import { isArray, isObject, read, readKeys, readString } from "./safe-read.ts";

const MAX_DEPTH = 3;
/** How many properties or elements of one object are written. */
const MAX_ENTRIES = 20;

export function plainText(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "function") return `function ${readString(value, "name") ?? ""}`.trimEnd();
  if (!isObject(value)) return String(value);
  if (depth === MAX_DEPTH) return "...";
  return isArray(value) ? writeArray(value, depth) : writeObject(value, depth);
}

function writeArray(array: object, depth: number): string {
  const length = read(array, "length");
  const count = typeof length === "number" ? length : 0;
  const entries: string[] = [];
  for (let index = 0; index < count && index < MAX_ENTRIES; index += 1) {
    entries.push(write(read(array, index), depth + 1));
  }
  if (count > MAX_ENTRIES) entries.push("...");
  return `[${entries.join(",")}]`;
}

function writeObject(object: object, depth: number): string {
  if (ArrayBuffer.isView(object)) return `${className(object)}of ${object.byteLength} bytes`;
  const date = dateText(object);
  if (date !== undefined) return date;
  const keys = readKeys(object);
  if (keys === undefined) return "(an unreadable object)";
  const entries = keys.slice(0, MAX_ENTRIES).map((key) => {
    const isSecret = isSecretKey(key);
    return `${quote(key)}:${isSecret ? REDACTED : write(read(object, key), depth + 1)}`;
  });
  if (keys.length > MAX_ENTRIES) entries.push("...");
  return `${className(object)}{${entries.join(",")}}`;
}

function className(object: object): string {
  const maker = read(object, "constructor");
  const name = isObject(maker) ? readString(maker, "name") : undefined;
  return name === undefined || name === "" || name === "Object" ? "" : `${name} `;
}

function dateText(object: object): string | undefined {
  try {
    return object instanceof Date ? object.toISOString() : undefined;
  } catch {
    return undefined;
  }
}

/** Redacted before the escapes come in, which would hide the quotes of a value from the rules. */
function quote(text: string): string {
  return JSON.stringify(redact(text));
}
