import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkInboxSchema,
  defaultSchema,
  inboxColumnKeys,
} from "../../src/dialect/inbox-schema.ts";
import { inboxNames } from "../../src/dialect/postgres/inbox-names.ts";

const keys = ["table", ...inboxColumnKeys] as const;

describe("the schema", () => {
  test("the default has V10's names, and passes its own check as a frozen copy", () => {
    expect(checkInboxSchema(defaultSchema)).toEqual(defaultSchema);
    expect(checkInboxSchema(defaultSchema)).not.toBe(defaultSchema);
    expect(Object.isFrozen(checkInboxSchema({ ...defaultSchema }))).toBe(true);
    expect(keys.toSorted()).toEqual(Object.keys(defaultSchema).toSorted());
  });

  test.each(keys)("a missing %s is an error that names it", (key) => {
    const { [key]: _left, ...rest } = defaultSchema;
    expect(() => checkInboxSchema(rest)).toThrow(
      new TypeError(
        `schema.${key} is missing; spread defaultSchema to keep the names that you do not change`,
      ),
    );
  });

  test.each(keys)("an unsafe %s is an error that names it and its value", (key) => {
    for (const unsafe of [
      "",
      " ",
      "1st",
      "$a",
      "a b",
      "a-b",
      'a"b',
      "a'b",
      "a;b",
      "a--",
      "a\n",
      "ä",
      "a\u0000",
      "a".repeat(64),
      ".a",
      "a.",
      "a.b.c",
      "a..b",
      `a.${"b".repeat(64)}`,
      'inbox"; DROP TABLE inbox; --',
    ]) {
      const attempt = (): unknown => checkInboxSchema({ ...defaultSchema, [key]: unsafe });
      expect(attempt, JSON.stringify(unsafe)).toThrow(RangeError);
      expect(attempt).toThrow(`schema.${key}: `);
    }
  });

  test("every value of another type is an error that says what it is", () => {
    for (const wrong of [null, 1, true, {}, ["id"], Symbol("id"), () => "id", 1n]) {
      expect(() => checkInboxSchema({ ...defaultSchema, id: wrong })).toThrow(
        /^schema\.id is .*, not a string/,
      );
    }
    for (const wrong of [null, undefined, "inbox", 1, true]) {
      expect(() => checkInboxSchema(wrong)).toThrow(
        /^schema: .* is not an object of table and column names$/,
      );
    }
  });

  test("a table may stand in a schema; a column may not have two parts", () => {
    const schema = checkInboxSchema({ ...defaultSchema, table: "Messaging.In_Box$1" });
    expect(inboxNames(schema).table).toBe('"Messaging"."In_Box$1"');
    expect(() => checkInboxSchema({ ...defaultSchema, id: "inbox.id" })).toThrow("schema.id");
  });

  test("the longest names, and reserved words, are fine", () => {
    const long = "a".repeat(63);
    const schema = checkInboxSchema({
      ...defaultSchema,
      table: `${long}.${long}`,
      id: "select",
      state: "_$",
    });
    expect(inboxNames(schema).column).toMatchObject({ id: '"select"', state: '"_$"' });
  });

  test("two columns of one name, and a name nobody knows, are errors", () => {
    expect(() => checkInboxSchema({ ...defaultSchema, payload: "headers" })).toThrow(
      'schema.headers: "headers" is schema.payload already; each column needs a name of its own',
    );
    expect(() => checkInboxSchema({ ...defaultSchema, paylaod: "body" })).toThrow(
      /^schema\.paylaod: there is no such name; a schema has table, id, /,
    );
  });

  test("no name that passes can leave its quotes", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 70 }), (id) => {
        let quoted: string;
        try {
          quoted = inboxNames({ ...defaultSchema, id }).column.id;
        } catch (error) {
          return error instanceof RangeError;
        }
        return /^"[A-Za-z_][A-Za-z0-9_$]{0,62}"$/.test(quoted);
      }),
    );
  });

  test("a later change of the caller's object reaches nothing", () => {
    const mine = { ...defaultSchema };
    const checked = checkInboxSchema(mine);
    mine.table = "elsewhere";
    expect(checked.table).toBe("inbox");
  });
});
