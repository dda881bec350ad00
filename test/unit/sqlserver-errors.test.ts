import { describe, expect, test } from "vitest";
import {
  endsTransaction,
  isClaimLost,
  isSessionLost,
  isTransactionOver,
  isTransient,
  isUnstorableText,
  noteTransaction,
  serverNumbers,
  THROWN,
} from "../../src/dialect/sqlserver/errors.ts";
import { begin, beginShort, isolations } from "../../src/dialect/sqlserver/transactions.ts";
import { TransactionError } from "../../src/errors.ts";

/** An error as `mssql` makes it of what the server said. */
function said(number: number, more: object = {}): Error {
  return Object.assign(new Error(`error ${number}`), {
    code: "EREQUEST",
    number,
    class: 16,
    ...more,
  });
}

/** An error of the driver's own: `mssql` puts its code where the server's number would be. */
function own(code: string, more: object = {}): Error {
  return Object.assign(new Error(code), { code, number: code, ...more });
}

describe("SQL Server's errors", () => {
  test("are told by every number that came with them", () => {
    expect(serverNumbers(said(266, { precedingErrors: [said(1205)] }))).toEqual([266, 1205]);
    expect(serverNumbers(new AggregateError([said(2627), said(3621)]))).toEqual([2627, 3621]);
    expect(serverNumbers(Object.assign(new Error("x"), { originalError: said(3902) }))).toEqual([
      3902,
    ]);
    expect(serverNumbers(own("ETIMEOUT"))).toEqual([]);
    expect(serverNumbers({ number: -2 })).toEqual([]);
    expect(serverNumbers(undefined)).toEqual([]);
  });

  test("that go round in a circle end", () => {
    const error = said(1205);
    Object.assign(error, { cause: error });
    expect(serverNumbers(error).every((number) => number === 1205)).toBe(true);
  });

  test.each([
    "ETIMEOUT",
    "ECLOSE",
    "ESOCKET",
    "ECONNCLOSED",
    "ECONNRESET",
    "ECANCEL",
    "ELOGIN",
    "UNKNOWN",
  ])("%s leaves the session in doubt", (code) => {
    expect(isSessionLost(own(code))).toBe(true);
    expect(isTransient(own(code))).toBe(false);
  });

  test("a connection that closes behind an error is in doubt all the same", () => {
    expect(isSessionLost(own("ECLOSE", { precedingErrors: [said(547)] }))).toBe(true);
    expect(isSessionLost(said(823, { class: 24 }))).toBe(true);
    expect(isSessionLost(said(266, { precedingErrors: [said(823, { class: 24 })] }))).toBe(true);
  });

  test.each([596, 4060, 6005, 10054, 10928, 40613, 49918])("%i ends the session", (number) => {
    expect(isSessionLost(said(number))).toBe(true);
  });

  test("an error that the server reported on a living session says that the statement had no effect", () => {
    for (const number of [207, 208, 547, 1205, 2627, 8134, 51_000]) {
      expect(isSessionLost(said(number))).toBe(false);
    }
    expect(isSessionLost(own("EPARAM"))).toBe(false);
    expect(isSessionLost(new TransactionError("not committed"))).toBe(false);
  });

  test.each([1205, 1222, 3960, 8645, 41302, THROWN.lockNotGranted])(
    "%i may work when tried again",
    (number) => {
      expect(isTransient(said(number))).toBe(true);
    },
  );

  test("what is broken stays so", () => {
    for (const number of [208, 245, 547, 2627, 2628, 8152, THROWN.claimLost]) {
      expect(isTransient(said(number))).toBe(false);
    }
  });

  test("a lost claim is told by its number", () => {
    expect(isClaimLost(said(THROWN.claimLost))).toBe(true);
    expect(isClaimLost(said(266, { precedingErrors: [said(THROWN.claimLost)] }))).toBe(true);
    expect(isClaimLost(said(THROWN.lockNotGranted))).toBe(false);
  });

  test("a text too long, or not in the column's encoding, cannot be stored", () => {
    expect([511, 2628, 8152, 9833].every((number) => isUnstorableText(said(number)))).toBe(true);
    expect(isUnstorableText(said(2627))).toBe(false);
  });

  test.each([1205, 245, 8114, 3609, 3616, 3930, 3960, 3998])(
    "%i ends the transaction",
    (number) => {
      expect(endsTransaction(said(number))).toBe(true);
    },
  );

  test("a broken constraint undoes its statement alone", () => {
    expect(endsTransaction(said(2627))).toBe(false);
    expect(endsTransaction(said(547))).toBe(false);
    expect(endsTransaction(own("ETIMEOUT"))).toBe(false);
  });

  test("what the server said of the transaction counts for more than the number", () => {
    const constraint = said(2627);
    noteTransaction(constraint, true);
    expect(endsTransaction(constraint)).toBe(true);
    const conversion = said(245);
    noteTransaction(conversion, false);
    expect(endsTransaction(conversion)).toBe(false);
    noteTransaction(Object.freeze(said(1205)), false);
    noteTransaction("no object", true);
  });

  test("a transaction that is not there is told from one that failed", () => {
    for (const number of [628, 3902, 3903, 6401, THROWN.transactionOver]) {
      expect(isTransactionOver(said(number))).toBe(true);
    }
    expect(isTransactionOver(said(1205))).toBe(false);
  });
});

describe("SQL Server's transactions", () => {
  test.each([
    [undefined, "READ COMMITTED"],
    ["readUncommitted", "READ UNCOMMITTED"],
    ["readCommitted", "READ COMMITTED"],
    ["repeatableRead", "REPEATABLE READ"],
    ["serializable", "SERIALIZABLE"],
    ["snapshot", "SNAPSHOT"],
  ] as const)(
    "%s is said at each begin, with all that a pooled session may have otherwise",
    (level, words) => {
      const before = `SET NOCOUNT OFF; SET XACT_ABORT OFF; SET TRANSACTION ISOLATION LEVEL ${words}`;
      expect(begin(level)).toEqual({
        kind: "begin",
        text: `${before}; BEGIN TRANSACTION`,
        beforeBegin: before,
      });
      expect(level === undefined || isolations.includes(level)).toBe(true);
    },
  );

  test("the library's own end with any error", () => {
    const before =
      "SET NOCOUNT OFF; SET XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
    const text = `${before}; BEGIN TRANSACTION`;
    expect(beginShort).toEqual({ kind: "begin", text, beforeBegin: before });
  });

  test("SQLite's modes are refused with the levels that there are", () => {
    expect(() => begin("immediate")).toThrow(
      "SQL Server opens readUncommitted, readCommitted, repeatableRead, serializable, snapshot, not immediate",
    );
  });
});
