/** The server's answers. */

/** One statement's answer, or what it did to the transaction. */
export type Part =
  | {
      readonly columns: Readonly<Record<string, ColumnType>>;
      readonly rows: readonly (readonly unknown[])[];
    }
  | { readonly changed: number }
  | { readonly error: number; readonly severity?: number; readonly message?: string }
  /** A statement that said no count: NOCOUNT is on, or it had none. */
  | "uncounted"
  | "begun"
  | "committed"
  | "rolled back";

export type ColumnType = "nvarchar" | "int" | "bigint";

/** In packets of the protocol. */
export function packets(payload: Buffer): Buffer {
  const all: Buffer[] = [];
  for (let at = 0; at === 0 || at < payload.length; at += 4000) {
    const data = payload.subarray(at, at + 4000);
    const header = Buffer.alloc(8);
    header[0] = 4;
    header[1] = at + 4000 >= payload.length ? 1 : 0;
    header.writeUInt16BE(data.length + 8, 2);
    all.push(header, data);
  }
  return Buffer.concat(all);
}

/** A version, and that there is no encryption. */
export function preloginReply(): Buffer {
  return Buffer.from([0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2]);
}

export function loginReply(): Buffer {
  const body = Buffer.concat([
    Buffer.from([1, 0x74, 0, 0, 4]),
    name("Test"),
    Buffer.from([16, 0, 0, 0]),
  ]);
  return Buffer.concat([Buffer.from([0xad]), u16(body.length), body, done(0xfd, 0, 0)]);
}

/** A cancelled request is over. */
export function attentionReply(): Buffer {
  return done(0xfd, 0x20, 0);
}

/** The answer to a batch, or to a call, whose statements are within a procedure. */
export function tokens(parts: readonly Part[], kind: "batch" | "call"): Buffer {
  const statement = kind === "batch" ? 0xfd : 0xff;
  const all = parts.flatMap((part): Buffer[] => {
    switch (part) {
      case "begun":
        return [change(8, newTransaction(), NOTHING)];
      case "committed":
        return [change(9, NOTHING, NO_TRANSACTION)];
      case "rolled back":
        return [change(10, NOTHING, NO_TRANSACTION)];
      case "uncounted":
        return [done(statement, MORE, 0)];
      default:
        if ("error" in part) return [errorToken(part)];
        if ("changed" in part) return [done(statement, MORE | COUNTED, part.changed)];
        return [...table(part), done(statement, MORE | COUNTED, part.rows.length)];
    }
  });
  const hasFailed = parts.some((part) => typeof part === "object" && "error" in part);
  const last = done(kind === "batch" ? 0xfd : 0xfe, hasFailed ? FAILED : 0, 0);
  return Buffer.concat([...all, ...(kind === "call" ? [returnStatus()] : []), last]);
}

const MORE = 1;
const FAILED = 2;
const COUNTED = 0x10;
const NO_TRANSACTION = Buffer.alloc(8);
const NOTHING = Buffer.alloc(0);

function done(token: number, status: number, count: number): Buffer {
  const buffer = Buffer.alloc(13);
  buffer[0] = token;
  buffer.writeUInt16LE(status, 1);
  buffer.writeBigUInt64LE(BigInt(count), 5);
  return buffer;
}

let begun = 0n;

/** No two are the same. */
function newTransaction(): Buffer {
  const descriptor = Buffer.alloc(8);
  descriptor.writeBigUInt64LE(++begun);
  return descriptor;
}

function returnStatus(): Buffer {
  return Buffer.from([0x79, 0, 0, 0, 0]);
}

/** A change of the environment: what is new, and what was. */
function change(type: number, now: Buffer, before: Buffer): Buffer {
  const body = Buffer.from([type, now.length, ...now, before.length, ...before]);
  return Buffer.concat([Buffer.from([0xe3]), u16(body.length), body]);
}

function errorToken({
  error,
  message = `error ${error}`,
  severity = 16,
}: Extract<Part, { error: number }>): Buffer {
  const head = Buffer.alloc(6);
  head.writeUInt32LE(error, 0);
  head[4] = 1;
  head[5] = severity;
  const text = Buffer.from(message, "ucs2");
  const body = Buffer.concat([
    head,
    u16(message.length),
    text,
    name("test"),
    name(""),
    Buffer.alloc(4),
  ]);
  return Buffer.concat([Buffer.from([0xaa]), u16(body.length), body]);
}

function table({ columns, rows }: Extract<Part, { rows: unknown }>): Buffer[] {
  const all = Object.entries(columns);
  const metadata = all.map(([column, type]) =>
    Buffer.concat([Buffer.alloc(4), Buffer.from([9, 0]), TYPES[type], name(column)]),
  );
  const types = all.map(([, type]) => type);
  return [
    Buffer.concat([Buffer.from([0x81]), u16(all.length), ...metadata]),
    ...rows.map((row) =>
      Buffer.concat([Buffer.from([0xd1]), ...types.map((type, at) => cell(type, row[at]))]),
    ),
  ];
}

const TYPES: Readonly<Record<ColumnType, Buffer>> = {
  nvarchar: Buffer.from([0xe7, 0x40, 0x1f, 9, 4, 0xd0, 0, 0x34]),
  int: Buffer.from([0x26, 4]),
  bigint: Buffer.from([0x26, 8]),
};

function cell(type: ColumnType, value: unknown): Buffer {
  if (type === "nvarchar") {
    if (value === null) return Buffer.from([0xff, 0xff]);
    const text = Buffer.from(String(value), "ucs2");
    return Buffer.concat([u16(text.length), text]);
  }
  if (value === null) return Buffer.from([0]);
  const bytes = Buffer.alloc(type === "int" ? 4 : 8);
  if (type === "int") bytes.writeInt32LE(Number(value));
  else bytes.writeBigInt64LE(BigInt(String(value)));
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** A short text with its length. */
function name(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, "ucs2")]);
}

function u16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeUInt16LE(value);
  return buffer;
}
