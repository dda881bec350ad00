import type { Casing } from "./casing.ts";
import type { Columns, Part, RoleOf } from "./column.ts";
import type { Role } from "./description.ts";
import type { Sentence } from "./sentences.ts";
import type { Playing, PlayingPart } from "./table-facts.ts";

/**
 * The rules as types. Each answers the value's own type where it may stand, and the rule's sentence where
 * it may not, so that the diagnostic at the fault is the sentence.
 */

/** A table's or schema's name. */
export type CheckedName<Name extends string, What extends string> = Name extends ""
  ? Sentence<"nameEmpty", { what: What }>
  : Name extends `${string}.${string}`
    ? Sentence<"nameDot", { what: What }>
    : Name;

/**
 * The columns. The conditional's shape matters: a generic factory's columns are not known yet, and the
 * compiler then asks only what fits if nothing is known to be wrong, which is `C` itself.
 */
export type CheckedColumns<C extends Columns, Recased extends Casing | undefined> =
  Verdict<C, Recased> extends "broken" ? BrokenColumns<C, Recased> : C;

type Verdict<C extends Columns, Recased extends Casing | undefined> = [Faults<C, Recased>] extends [
  never,
]
  ? "whole"
  : "broken";

/** Of columns that are known by no name the types know nothing wrong. */
type Faults<C extends Columns, Recased extends Casing | undefined> = string extends keyof C
  ? never
  :
      | NoId<C>
      | {
          [P in keyof C]: ColumnFault<C, P, Recased>;
        }[keyof C];

type BrokenColumns<C extends Columns, Recased extends Casing | undefined> = [NoId<C>] extends [
  never,
]
  ? {
      readonly [P in keyof C]: [ColumnFault<C, P, Recased>] extends [never]
        ? C[P]
        : ColumnFault<C, P, Recased>;
    }
  : NoId<C>;

type NoId<C extends Columns> = [PlayingPart<C, "id">] extends [never] ? Sentence<"noId"> : never;

/** One sentence for a column, or never: of several rules the first. */
export type ColumnFault<
  C extends Columns,
  P extends keyof C,
  Recased extends Casing | undefined,
> = [RoleTwice<C, P, C[P]["$column"]["part"]>] extends [never]
  ? NameFault<C, P, NamesOf<C, Recased>>
  : RoleTwice<C, P, C[P]["$column"]["part"]>;

type RoleTwice<C extends Columns, P extends keyof C, As extends Part> = As extends "none"
  ? never
  : [Exclude<Playing<C, RoleOf<As> & Role>, P>] extends [never]
    ? never
    : Sentence<"roleTwice", { role: RoleOf<As> }>;

type NameFault<
  C extends Columns,
  P extends keyof C,
  Names extends Readonly<Record<keyof C, string>>,
> = string extends Names[P]
  ? never
  : Names[P] extends ""
    ? Sentence<"nameEmpty", { what: "column" }>
    : [Exclude<Inverted<Names>[Names[P] & keyof Inverted<Names>], P>] extends [never]
      ? never
      : Sentence<"nameTwice", { name: Names[P] }>;

/** What each column is called in the database, as far as the types know. */
type NamesOf<C extends Columns, Recased extends Casing | undefined> = {
  readonly [P in keyof C]: C[P]["$column"]["name"] extends infer Name extends string
    ? Name
    : undefined extends C[P]["$column"]["name"]
      ? [C[P]["$column"]["name"]] extends [undefined]
        ? RecasedName<P & string, Recased>
        : string
      : string;
};

/** From each name the properties of it. */
type Inverted<Names extends Readonly<Record<string, string>>> = {
  readonly [P in keyof Names as Names[P]]: P;
};

/** As far as collisions go: the words of a name of many capitals may differ at run time. */
type RecasedName<P extends string, Recased extends Casing | undefined> = Recased extends undefined
  ? P
  : Recased extends "lowercase"
    ? Lowercase<P>
    : Recased extends "UPPERCASE"
      ? Uppercase<P>
      : Recased extends "snake_case"
        ? Humps<P, "_">
        : Recased extends "SCREAMING_SNAKE_CASE"
          ? Uppercase<Humps<P, "_">>
          : Recased extends "kebab-case"
            ? Humps<P, "-">
            : string;

type Humps<
  P extends string,
  Joint extends string,
  After extends "" | Joint = "",
> = P extends `${infer Letter}${infer Rest}`
  ? Letter extends Lowercase<Letter>
    ? `${Letter}${Humps<Rest, Joint, Joint>}`
    : `${After}${Lowercase<Letter>}${Humps<Rest, Joint, "">}`
  : "";

/** The key of the advisory lock form. */
export type CheckedLock<Lock extends string, Name extends string, C extends Columns> = [
  Playing<C, "lockedUntil">,
] extends [never]
  ? [PlayingPart<C, "fifoGroup">] extends [never]
    ? [LockFault<Lock, C>] extends [never]
      ? Lock
      : LockFault<Lock, C>
    : Sentence<"lockAndFifo", { key: `${Name}-{${PlayingPart<C, "fifoGroup">}}` }>
  : Sentence<"lockAndLease">;

type LockFault<Lock extends string, C extends Columns> = string extends Lock
  ? never
  : Lock extends ""
    ? Sentence<"lockNothing">
    : BraceFault<Lock, C>;

type BraceFault<
  Lock extends string,
  C extends Columns,
> = Lock extends `${infer Before}{${infer Rest}`
  ? Before extends `${string}}${string}`
    ? Sentence<"lockBrace">
    : Rest extends `${infer Named}}${infer After}`
      ? Named extends `${string}{${string}`
        ? Sentence<"lockBrace">
        : Named extends ""
          ? Sentence<"lockEmpty">
          : Named extends keyof C
            ? C[Named]["$column"]["type"] extends infer Type extends "json" | "custom"
              ? Sentence<"lockType", { property: Named; type: Type }>
              : BraceFault<After, C>
            : Sentence<"lockUnknown", { property: Named }>
      : Sentence<"lockBrace">
  : Lock extends `${string}}${string}`
    ? Sentence<"lockBrace">
    : never;
