import { describe, expect, test } from "vitest";
import {
  findTransactionControl,
  transactionControl,
} from "../../src/driver/transaction-control.ts";

describe("transactionControl finds what begins or ends a transaction", () => {
  test.each([
    ["BEGIN", "BEGIN"],
    ["begin isolation level serializable", "BEGIN"],
    ["  /* a /* nested */ comment */ Commit Work ;", "COMMIT"],
    ["-- commit\nROLLBACK", "ROLLBACK"],
    ["start  transaction read only", "START TRANSACTION"],
    ["END", "END"],
    ["ABORT", "ABORT"],
    ["ROLLBACK AND CHAIN", "ROLLBACK"],
    ["COMMIT PREPARED 'x'", "COMMIT"],
    ["PREPARE TRANSACTION 'x'", "PREPARE TRANSACTION"],
    ["INSERT INTO t VALUES (1); commit", "COMMIT"],
    ["SELECT 'a;b', \"c;d\", $$e;$$, $t$;$t$; ROLLBACK", "ROLLBACK"],
    ["SELECT E'it\\'s'; COMMIT", "COMMIT"],
    ["SELECT E'a''b\\''; COMMIT", "COMMIT"],
    ["SELECT E'a'''; COMMIT", "COMMIT"],
    ["SELECT 'a\\'; COMMIT", "COMMIT"],
    [";;COMMIT", "COMMIT"],
    ["BEGIN TRAN", "BEGIN"],
    ["begin transaction named", "BEGIN"],
    ["BEGIN DISTRIBUTED TRANSACTION", "BEGIN"],
    ["BEGIN IMMEDIATE", "BEGIN"],
    ["BEGIN NOT DEFERRABLE", "BEGIN"],
    ["COMMIT TRAN", "COMMIT"],
    ["ROLLBACK TRAN", "ROLLBACK"],
    ["ROLLBACK TRANSACTION AND CHAIN", "ROLLBACK"],
    ["END TRANSACTION", "END"],
    ["INSERT INTO t VALUES (1); END", "END"],
    ["BEGIN TRY INSERT INTO t VALUES (1); COMMIT; END TRY BEGIN CATCH THROW; END CATCH", "COMMIT"],
    [
      "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; COMMIT",
      "COMMIT",
    ],
  ])("%j", (text, keyword) => {
    expect(transactionControl(text)).toBe(keyword);
  });
});

describe("transactionControl lets pass what does not", () => {
  test.each([
    "",
    "SELECT 1",
    "ROLLBACK TO SAVEPOINT a",
    "rollback work to a",
    "ROLLBACK TRANSACTION TO a",
    "SAVEPOINT a; RELEASE SAVEPOINT a",
    "PREPARE q AS SELECT 1",
    "SELECT 'x; COMMIT'",
    'SELECT "x; COMMIT"',
    "SELECT $$; COMMIT; $$",
    "SELECT $a$ $$; COMMIT; $a$",
    "SELECT E'\\'; COMMIT; '",
    "SELECT E'''; COMMIT; '",
    "SELECT 1 -- ; COMMIT",
    "SELECT 1 /* ; COMMIT */",
    "SELECT commit, begin FROM t",
    "UPDATE t SET state = $1 WHERE id = $2 AND note <> 'end'",
    "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 2 END; END",
    "DO $do$ BEGIN PERFORM 1; END $do$",
    "SELECT CASE WHEN true THEN 1 END",
    "SELECT 'unterminated; COMMIT",
    "BEGIN TRY INSERT INTO t VALUES (1); END TRY BEGIN CATCH THROW; END CATCH",
    "BEGIN INSERT INTO t VALUES (1); END",
    "DECLARE @a int = 1; IF @a = 1 BEGIN UPDATE t SET a = 1; END; ELSE BEGIN UPDATE t SET a = 2; END",
    "WHILE EXISTS (SELECT 1 FROM t) BEGIN DELETE TOP (1) FROM t; END",
    "END CONVERSATION @handle",
    "SAVE TRANSACTION mine",
    "ROLLBACK TRANSACTION mine",
    "ROLLBACK TRAN mine",
    "SELECT 1 /* unterminated; COMMIT",
    "SELECT $x$ unterminated; COMMIT",
  ])("%j", (text) => {
    expect(transactionControl(text)).toBeUndefined();
  });
});

test("it tells whether the statement stands alone, and whether it chains", () => {
  expect(findTransactionControl("COMMIT;")).toMatchObject({ isAlone: true, chains: false });
  expect(findTransactionControl("COMMIT AND NO CHAIN")).toMatchObject({ chains: false });
  expect(findTransactionControl("COMMIT AND CHAIN")).toMatchObject({ chains: true });
  expect(findTransactionControl("SELECT 1; COMMIT")).toMatchObject({ isAlone: false });
});

test("it is linear on hostile text", () => {
  const hostile = ["$a", "$a$", "/*", "--\n", "'", "E'\\", "E'''", "a.", ";", "$$'"];
  for (const piece of hostile) {
    const text = `commit_${piece.repeat(300_000 / piece.length)}`;
    const started = performance.now();
    transactionControl(text);
    expect(performance.now() - started, piece).toBeLessThan(1_000);
  }
});

test("a line comment ends at a carriage return too, as it does for the server", () => {
  expect(transactionControl("-- a note\rCOMMIT")).toBe("COMMIT");
});

test("an escape string with very many doubled quotes is read in one go", () => {
  const many = "''".repeat(200_000);
  expect(transactionControl(`SELECT E'${many}\\''; COMMIT`)).toBe("COMMIT");
  expect(transactionControl(`SELECT E'${many}; COMMIT'`)).toBeUndefined();
});

test("on SQLite a name behind ROLLBACK TRANSACTION changes nothing: it ends the transaction", () => {
  expect(transactionControl("INSERT INTO t VALUES (1); rollback transaction mine", "sqlite")).toBe(
    "ROLLBACK",
  );
  expect(transactionControl("ROLLBACK TRANSACTION TO mine", "sqlite")).toBeUndefined();
  expect(transactionControl("ROLLBACK TRANSACTION mine", "sqlserver")).toBeUndefined();
});
