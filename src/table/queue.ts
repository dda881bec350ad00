import type { StandardSchema } from "../standard-schema.ts";
import type { TableDescription } from "./description.ts";
import type { Sentence } from "./sentences.ts";
import type { TableFacts } from "./table-facts.ts";

/** What is worked with of a queue at run time: plain data. */
export interface QueueDescription {
  /** How messages and statistics name it: the group, else the given name, else the table. */
  readonly name: string;
  readonly table: TableDescription;
  /** `one`: rows of `group`; `every`: all groups, each in order; `none`: a table without groups. */
  readonly groups: "one" | "every" | "none";
  /** Of `groups: "one"`. */
  readonly group?: string;
  /** How its messages are read and written; left out: JSON of any form. */
  readonly payload?: PayloadReading;
}

/** A validator over the JSON, or a codec of the service's own. */
export type PayloadReading = StandardSchema | PayloadCodecLike;

/** A codec of any message. */
export interface PayloadCodecLike {
  decode(stored: never): unknown;
  encode(message: never): string | Uint8Array;
}

/** How what stands in the payload column becomes a message and back. */
export interface PayloadCodec<Message, Stored = string | Uint8Array> {
  /** Gets text, or bytes where the column is of bytes. What it throws is a row that does not decode. */
  decode(stored: Stored): Message | Promise<Message>;
  encode(message: Message): string | Uint8Array;
}

/**
 * A group of a table, or a table without groups, and what its messages are. Publishers and handlers share
 * its type.
 */
export interface Queue<Message = unknown, Input = unknown, Facts extends TableFacts = TableFacts>
  extends QueueDescription {
  /** Types only: what a handler takes. */
  readonly $message: Message;
  /** Types only: what is published. */
  readonly $input: Input;
  /** Types only: what the table can do. */
  readonly $table: Facts;
}

/** Options of a queue on a table with groups. */
export interface GroupQueueOptions<Payload> {
  /** What its messages are: a Standard Schema (zod, valibot, arktype...), or a codec. Left out: unknown. */
  readonly payload?: Payload;
}

/** Options of a queue on a table without groups. */
export interface PlainQueueOptions<Payload> extends GroupQueueOptions<Payload> {
  /** How logs and statistics name it. Default: the table's name. */
  readonly name?: string;
}

/** What may stand for `payload`; on a table whose messages are its rows only the rule's sentence. */
export type PayloadOption<Facts extends TableFacts> = Facts["has"]["payload"] extends false
  ? Sentence<"payloadOnRows">
  : PayloadReading;

/** What a queue's handler takes. `Payload` is never where the option was left out. */
export type MessageOf<Facts extends TableFacts, Payload> = Facts["has"]["payload"] extends false
  ? Facts["row"]
  : [Payload] extends [never]
    ? unknown
    : Payload extends { readonly "~standard": { readonly types?: infer Types } }
      ? OutputOf<Types>
      : Payload extends { decode(stored: never): infer Message }
        ? Awaited<Message>
        : unknown;

/** What is published to a queue: a schema's input, whatever it makes of it. */
export type InputOf<Facts extends TableFacts, Payload> = Facts["has"]["payload"] extends false
  ? Facts["input"]
  : [Payload] extends [never]
    ? unknown
    : Payload extends { readonly "~standard": { readonly types?: infer Types } }
      ? SchemaInput<Types>
      : Payload extends { encode(message: infer Message): unknown }
        ? Message
        : unknown;

type OutputOf<Types> =
  NonNullable<Types> extends { readonly output: infer Output } ? Output : unknown;

type SchemaInput<Types> =
  NonNullable<Types> extends { readonly input: infer Input } ? Input : unknown;
