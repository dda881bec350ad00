/**
 * The rules of a description, each written once: the types show a sentence at the column or option at
 * fault, and the run-time check throws it. `<word>` stands for what differs.
 */
export const sentences = {
  noId: "a table needs one id column: mark it with id()",
  roleTwice: "another column is the <role> too: one column plays a role",
  twoRoles: "a column plays one role, and this one is the <role> already",
  roleType: "a column of type <type> cannot be the <role>: that takes <types>",
  idNull: "an id cannot be null",
  nameTwice: "another column is named <name> too: give one of them another name",
  generatedTwice: "generated() or generatedAlways() stands once on a column",
  fifoElsewhere: "fifo is an option of group() alone",
  noColumn: "a column is made by c, such as c.text()",
  nameEmpty: "a <what> cannot have an empty name",
  nameDot: "a <what> cannot have a dot in its name: schema and table are two settings",
  nameNul: "a <what> cannot have a NUL character in its name",
  casing: "casing takes <casings>",
  lockAndLease: "advisoryLock and lockedUntil() are two forms: keep one of them",
  lockAndFifo:
    "advisoryLock and group({ fifo }) do not go together: take fifo away and write the group into the key, as in <key>",
  lockUnknown:
    "advisoryLock has a placeholder {<property>}, and there is no such property in columns",
  lockType:
    "advisoryLock has a placeholder {<property>} of type <type>, whose values have no one text: name a column of another type",
  lockEmpty: "advisoryLock has an empty placeholder: name a property of columns between the braces",
  lockBrace: "advisoryLock has a brace without its other half",
  lockNothing: "advisoryLock cannot be empty",
  isolation: "isolation takes <levels>",
  mode: "mode takes <modes>",
  isolationAndMode:
    "isolation and mode do not go together: mode is for SQLite, isolation for the others",
  customUnknown: "custom has no event of this name: there are <events>",
  customClaimAndLock: "custom.claim and advisoryLock do not go together: the claim takes the locks",
  customExtend: "custom.extend needs a lease: mark a column with lockedUntil()",
  customLock: "custom.<event> needs advisoryLock",
  customPair: "custom.<event> needs custom.<other> beside it",
  payloadOnRows:
    "payload is for tables with a payload column: the messages of this one are its rows",
  everyGroup: "everyGroup() needs a column marked with group({ fifo: true })",
  notHeaders: "headers takes a table made by inboxHeaders",
  messageRole: "a message has no <role>: that is a column of the headers table",
  messageOption: "a message has no <option>: that is an option of the headers table",
  noForm: "rows are held by <form>, which <database> does not do; it does: <forms>",
  noIsolation: "<database> opens no transaction at isolation <isolation>; it opens <levels>",
  noRowLockIsolation:
    "the row lock claim opens no transaction at isolation <isolation> on <database>; it opens <levels>",
  noMode: "<database> opens no transaction in mode <mode>; it opens <modes>",
  noListening: "listenNotify takes a database with notifications; <database> has none",
  customDatabase: "the custom event <event> has no function for <database>",
  messageEvent: "a message has one event of its own, fetch: <event> belongs to the headers table",
} as const;

type Sentences = typeof sentences;

export type SentenceName = keyof Sentences;

/** What a sentence leaves open. */
export type Words = { readonly [word: string]: string };

/** A sentence as a literal type, its open places filled: what a diagnostic shows. */
export type Sentence<Name extends SentenceName, Given extends Words = Words> = Filled<
  Sentences[Name],
  Given
>;

type Filled<
  Text extends string,
  Given extends Words,
> = Text extends `${infer Before}<${infer Word}>${infer After}`
  ? `${Before}${Word extends keyof Given ? Given[Word] : string}${Filled<After, Given>}`
  : Text;

/** The same sentence at run time. */
export function sentence(name: SentenceName, given: Words = {}): string {
  return sentences[name].replaceAll(/<(\w+)>/g, (whole, word: string) => given[word] ?? whole);
}

/** Which column types can play each role, in words. */
export const roleTypes = {
  id: "smallint, integer, bigint, text, uuid or decimal",
  group: "smallint, integer, bigint, text or uuid",
  partitionKey: "smallint, integer, bigint, text, uuid, decimal, boolean or timestamp",
  priority: "smallint, integer or bigint",
  retryAfter: "timestamp",
  attempt: "smallint, integer or bigint",
  lockedUntil: "timestamp",
  processedAt: "timestamp",
  headers: "json",
  payload: "bytes, text or json",
} as const;
