import type { Dialect } from "../dialect/dialect.ts";
import { DecodeError } from "../errors.ts";
import { hasMethods } from "../options.ts";
import { issuesText, type StandardSchema } from "../standard-schema.ts";
import type { ColumnDescription } from "../table/description.ts";
import type { PayloadReading } from "../table/queue.ts";

/** How one queue's messages stand in its payload column. */
export interface PayloadFormat {
  /**
   * What the driver gave, as a message. Null in the column is a JSON null.
   * @throws DecodeError; it never quotes the payload, which is nobody's business in a log.
   */
  decode(raw: unknown): unknown;
  /** A message as a parameter. @throws TypeError where it has no JSON, or the codec refuses it. */
  encode(message: unknown): unknown;
}

/** The format of a payload column under a queue's option; text, bytes and JSON columns can have one. */
export function payloadFormat(
  dialect: Dialect,
  column: ColumnDescription,
  reading: PayloadReading | undefined,
): PayloadFormat {
  const stored = storedFormat(dialect, column);
  if (reading === undefined) return jsonFormat(stored);
  if (isSchema(reading)) return schemaFormat(jsonFormat(stored), reading);
  return codecFormat(stored, reading);
}

/** A payload column's value before anybody reads it: text, or bytes. */
interface StoredFormat {
  readonly kind: "text" | "bytes";
  read(raw: unknown): string | Uint8Array;
  write(value: string | Uint8Array): unknown;
}

function storedFormat(dialect: Dialect, column: ColumnDescription): StoredFormat {
  if (column.type === "bytes") {
    const codec = dialect.types.bytes;
    return {
      kind: "bytes",
      read: (raw) => bytesOf(codec.decode(raw)),
      write: (value) => codec.encode(typeof value === "string" ? Buffer.from(value) : value),
    };
  }
  // JSON text goes in as it stands: to encode it again would make a JSON string of it.
  return {
    kind: "text",
    read(raw) {
      // A text that holds a NUL may have come as bytes.
      if (raw instanceof Uint8Array) return utf8(raw);
      return typeof raw === "string" ? raw : JSON.stringify(raw);
    },
    write: (value) => (typeof value === "string" ? value : utf8(value)),
  };
}

function jsonFormat(stored: StoredFormat): PayloadFormat {
  return {
    decode(raw) {
      if (raw === null || raw === undefined) return null;
      const value = stored.read(raw);
      return parseJson("the payload is", typeof value === "string" ? value : utf8(value));
    },
    encode: (message) => stored.write(jsonText(message)),
  };
}

function schemaFormat(json: PayloadFormat, schema: StandardSchema): PayloadFormat {
  return {
    async decode(raw) {
      const result = await validated(schema, json.decode(raw));
      if (result.issues === undefined) return result.value;
      throw new DecodeError(`the payload does not fit its schema: ${issuesText(result.issues)}`);
    },
    encode: json.encode,
  };
}

async function validated(schema: StandardSchema, value: unknown) {
  try {
    return await schema["~standard"].validate(value);
  } catch (cause) {
    throw new DecodeError("the payload's schema threw", { cause });
  }
}

function codecFormat(
  stored: StoredFormat,
  codec: Exclude<PayloadReading, StandardSchema>,
): PayloadFormat {
  return {
    async decode(raw) {
      if (raw === null || raw === undefined) throw new DecodeError("the payload is null");
      try {
        // What it is stored as is what the codec was made for: the queue's type says so.
        return await codec.decode(stored.read(raw) as never);
      } catch (cause) {
        throw cause instanceof DecodeError
          ? cause
          : new DecodeError("the queue's payload codec refused the payload", { cause });
      }
    },
    encode: (message) => stored.write(codec.encode(message as never)),
  };
}

export function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DecodeError(`${what} no JSON (${text.length} characters)`);
  }
}

function jsonText(message: unknown): string {
  const text: string | undefined = JSON.stringify(message);
  if (text !== undefined) return text;
  throw new TypeError(`a message takes a value that JSON can hold, not ${typeof message}`);
}

function utf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new DecodeError(`the payload is no UTF-8 (${bytes.length} bytes)`);
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new DecodeError("the database gave no bytes for the payload");
}

function isSchema(reading: PayloadReading): reading is StandardSchema {
  return hasMethods(Reflect.get(reading, "~standard"), ["validate"]);
}
