import type { Connection } from "../driver/connection.ts";
import type { Columns } from "./column.ts";
import type { CustomEventName, customEvents } from "./description.ts";
import type { Listed } from "./option-words.ts";
import type { Sentence } from "./sentences.ts";
import type { FormOf, RoleValue } from "./table-facts.ts";

/** What an event of the service's own runs its statements on. */
export type EventConnection = Pick<Connection, "query">;

/** Of a claim: the group that is read, undefined on a table without groups, and how many rows at most. */
export interface ClaimRequest<Group> {
  readonly group: Group;
  readonly limit: number;
}

/** Where a dead letter goes: the table as it is quoted for SQL, and the group where it has one. */
export interface EventDestination {
  readonly table: string;
  readonly group: string | undefined;
}

/** An id as a statement's rows may have it. */
export type RawId = string | number | bigint;

/** A row as the driver gave it, its columns by their names. */
export type RawRow = Readonly<Record<string, unknown>>;

/**
 * The events that a service may write itself, by their names. Settlements run in the transaction that the
 * library commits.
 */
export interface TableEvents<Id = unknown, Group = unknown> {
  /** Takes rows; answers their ids, in the order in which they are handed out. */
  claim(conn: EventConnection, request: ClaimRequest<Group>): Promise<readonly RawId[]>;
  /** Reads claimed rows, each with its columns by name, in any order. */
  fetch(conn: EventConnection, ids: readonly Id[]): Promise<readonly RawRow[]>;
  ack(conn: EventConnection, id: Id): Promise<unknown>;
  retry(conn: EventConnection, id: Id): Promise<unknown>;
  discard(conn: EventConnection, id: Id): Promise<unknown>;
  retryAfter(conn: EventConnection, id: Id, delayMs: number): Promise<unknown>;
  deadLetter(conn: EventConnection, id: Id, destination: EventDestination): Promise<unknown>;
  /** Extends a lease from `held` to `until`; answers whether it was held still. */
  extend(conn: EventConnection, id: Id, held: Date, until: Date): Promise<boolean>;
  /** Takes a key's lock without waiting; answers whether it took it. */
  lock(conn: EventConnection, key: string): Promise<boolean>;
  /** Releases a key's lock; answers whether it was held. */
  unlock(conn: EventConnection, key: string): Promise<boolean>;
}

/** A function for every database, or one for each by its name. */
export type OneOrEach<Event> = Event | { readonly [database: string]: Event };

/** The option `custom`. `Events` are the names that the service wrote. */
export type CheckedCustom<Events extends string, C extends Columns, Lock extends string> = {
  readonly [Name in Events]: Name extends CustomEventName
    ? [CustomFault<Name, Events, FormOf<C, Lock>>] extends [never]
      ? OneOrEach<TableEvents<RoleValue<C, "id">, GroupOf<C>>[Name]>
      : CustomFault<Name, Events, FormOf<C, Lock>>
    : Sentence<"customUnknown", { events: Listed<typeof customEvents> }>;
};

type GroupOf<C extends Columns> = [RoleValue<C, "group">] extends [never]
  ? undefined
  : RoleValue<C, "group">;

type CustomFault<Name extends CustomEventName, Given, Form> = Name extends "claim"
  ? Form extends "advisoryLock"
    ? Sentence<"customClaimAndLock">
    : never
  : Name extends "extend"
    ? Form extends "lease"
      ? never
      : Sentence<"customExtend">
    : Name extends "lock" | "unlock"
      ? Form extends "advisoryLock"
        ? Other<Name> extends Given
          ? never
          : Sentence<"customPair", { event: Name; other: Other<Name> }>
        : Sentence<"customLock", { event: Name }>
      : never;

type Other<Name extends "lock" | "unlock"> = Name extends "lock" ? "unlock" : "lock";
