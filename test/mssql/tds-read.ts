/** The client's messages, as far as the tests look at them. */

export interface Param {
  readonly name: string;
  /** The type on the wire, with its length: `nvarchar(8000)` counts bytes. */
  readonly type: string;
  readonly value: unknown;
}

export interface Call {
  readonly text: string;
  /** What `sp_executesql` is told of the parameters: `@p1 int, @p2 nvarchar(4000)`. */
  readonly declared: string;
  readonly params: readonly Param[];
}

/** Nothing but its shape matters: it offers no encryption, and none is asked for. */
export function readPrelogin(data: Buffer): void {
  if (data[0] !== 0) throw new Error("a PRELOGIN begins with the version");
}

export function readBatch(data: Buffer): Call {
  return { text: data.toString("ucs2", data.readUInt32LE(0)), declared: "", params: [] };
}

/** A call of `sp_executesql`: the statement, the declarations, and the parameters. */
export function readCall(data: Buffer): Call {
  const reader = new Reader(data, data.readUInt32LE(0));
  const procedure = reader.u16() === 0xffff ? reader.u16() : 0;
  if (procedure !== 10) throw new Error(`procedure ${procedure} is not spoken here`);
  reader.u16();
  const all: Param[] = [];
  while (!reader.isAtEnd) all.push(readParam(reader));
  const [statement, declared, ...params] = all;
  return {
    text: String(statement?.value),
    declared: String(declared?.value ?? ""),
    params,
  };
}

function readParam(reader: Reader): Param {
  const name = reader.ucs2(reader.u8());
  reader.u8();
  return { name, ...readValue(reader, reader.u8()) };
}

function readValue(reader: Reader, type: number): Omit<Param, "name"> {
  switch (type) {
    case 0x26: {
      const length = reader.u8();
      const bytes = reader.bytes(reader.u8());
      const value =
        bytes.length === 0 ? null : length === 8 ? bytes.readBigInt64LE() : bytes.readInt32LE();
      return { type: length === 8 ? "bigint" : "int", value };
    }
    case 0x68: {
      reader.u8();
      const bytes = reader.bytes(reader.u8());
      return { type: "bit", value: bytes.length === 0 ? null : bytes[0] === 1 };
    }
    case 0x6d: {
      reader.u8();
      const bytes = reader.bytes(reader.u8());
      return { type: "float", value: bytes.length === 0 ? null : bytes.readDoubleLE() };
    }
    case 0x2a: {
      const scale = reader.u8();
      const bytes = reader.bytes(reader.u8());
      return { type: `datetime2(${scale})`, value: bytes.length === 0 ? null : readTime(bytes) };
    }
    case 0xe7: {
      const length = reader.u16();
      reader.bytes(5);
      const bytes = readBytes(reader, length);
      return { type: sized("nvarchar", length), value: bytes?.toString("ucs2") ?? null };
    }
    case 0xa5: {
      const length = reader.u16();
      return { type: sized("varbinary", length), value: readBytes(reader, length) ?? null };
    }
    default:
      throw new Error(`type 0x${type.toString(16)} is not read here`);
  }
}

function sized(name: string, length: number): string {
  return `${name}(${length === 0xffff ? "max" : length})`;
}

/** With a length of its own, or in chunks where it may be of any. */
function readBytes(reader: Reader, longest: number): Buffer | undefined {
  if (longest !== 0xffff) {
    const length = reader.u16();
    return length === 0xffff ? undefined : reader.bytes(length);
  }
  if (reader.u64() === 0xffff_ffff_ffff_ffffn) return undefined;
  const chunks: Buffer[] = [];
  for (let length = reader.u32(); length > 0; length = reader.u32()) {
    chunks.push(reader.bytes(length));
  }
  return Buffer.concat(chunks);
}

/** Tenths of microseconds of the day, then days since the year 1. */
function readTime(bytes: Buffer): string {
  const ms = Math.round(bytes.readUIntLE(0, 5) / 10_000);
  const days = bytes.readUIntLE(5, 3);
  return new Date(Date.UTC(2000, 0, 1) + (days - 730_119) * 86_400_000 + ms).toISOString();
}

class Reader {
  readonly #data: Buffer;
  #at: number;

  constructor(data: Buffer, at: number) {
    this.#data = data;
    this.#at = at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#data.length;
  }

  bytes(length: number): Buffer {
    this.#at += length;
    return this.#data.subarray(this.#at - length, this.#at);
  }

  ucs2(characters: number): string {
    return this.bytes(characters * 2).toString("ucs2");
  }

  u8(): number {
    return this.bytes(1).readUInt8();
  }

  u16(): number {
    return this.bytes(2).readUInt16LE();
  }

  u32(): number {
    return this.bytes(4).readUInt32LE();
  }

  u64(): bigint {
    return this.bytes(8).readBigUInt64LE();
  }
}
