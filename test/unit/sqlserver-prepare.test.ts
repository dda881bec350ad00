/**
 * How a start has SQL Server look at a statement that it does not run. The texts stand in sqlserver-prepare/; a
 * grammar of T-SQL reads them, and the batches within them.
 */
import { describe, expect, test } from "vitest";
import { defaultSchema } from "../../src/dialect/inbox-schema.ts";
import { sqlserverInbox } from "../../src/dialect/sqlserver/inbox.ts";
import { prepareStatement, refusalIn } from "../../src/dialect/sqlserver/prepare.ts";
import { sqlserver } from "../../src/dialect/sqlserver/sqlserver.ts";
import type { Statement } from "../../src/dialect/statement.ts";
import { partsOf, sqlTables, statementsOf } from "../support/table-sql.ts";
import { tsqlFaults } from "../support/tsql.ts";

const { claimWindow: _, ...inbox } = sqlserverInbox.statements(defaultSchema, {
  batchSize: 10,
  chargeExpired: false,
});

const statements: readonly (readonly [string, Statement])[] = [
  ...Object.entries(sqlTables).flatMap(([name, table]) =>
    statementsOf(sqlserver, table)
      .flatMap(partsOf)
      .map(([which, statement]) => [`${name}: ${which}`, statement] as const),
  ),
  ...Object.entries(inbox).map(
    ([name, statement]) => [`inbox: ${name}`, statement as Statement] as const,
  ),
];

/** The text and the parameters that a call describes. */
function described(call: string): { readonly batch: string; readonly params: string } {
  const found =
    /^EXEC sys\.sp_describe_first_result_set @tsql = N'((?:[^']|'')*)'(?:, @params = N'([^']*)')?;$/.exec(
      call,
    );
  if (found === null) throw new Error(`it describes nothing: ${call.slice(0, 80)}`);
  return { batch: (found[1] ?? "").replaceAll("''", "'"), params: found[2] ?? "" };
}

describe("22: each statement is prepared on the server, and not run", () => {
  // The grammar takes its time where other things run too.
  test.each(statements)("%s", { timeout: 120_000 }, (_which, statement) => {
    const [call = "", ...others] = prepareStatement(statement);
    expect(others).toEqual([]);
    expect(tsqlFaults(call, 0)).toEqual([]);
    const { batch, params } = described(call);
    expect(params).toBe(
      statement.params.map((_, index) => `@p${index + 1} nvarchar(max)`).join(", "),
    );
    // It would stop at a procedure. With its locks granted it is the same batch, and no other.
    expect(batch).not.toMatch(/\bEXEC\b/);
    if (batch === statement.text) return;
    expect(tsqlFaults(batch, statement.params.length)).toEqual([]);
    const lines = statement.text.split("\n");
    const changed = batch
      .split("\n")
      .flatMap((line, at) => (line === lines[at] ? [] : [lines[at]]));
    for (const line of changed) expect(line).toMatch(/^EXEC (@\w+ = )?sp_(get|release)applock /);
  });

  test.each([
    ["claim of row locks", sqlserver.rowLock?.(sqlTables["row-lock"], settingsOf()).claim],
    [
      "claim of advisory locks",
      sqlserver.advisoryLock?.(sqlTables["advisory-lock"], settingsOf()).claim,
    ],
    ["dead letter", sqlserver.rowLock?.(sqlTables["row-lock"], settingsOf()).deadLetter],
    ["claim of the inbox", inbox.claim],
    ["requirements of the inbox", inbox.requirements],
  ])("%s is asked about so", async (name, statement) => {
    if (statement === undefined) throw new Error(`there is no ${name}`);
    await expect(`${prepareStatement(statement).join("\n")}\n`).toMatchFileSnapshot(
      `sqlserver-prepare/${name.replaceAll(" ", "-")}.sql`,
    );
  });

  test("all parts of a statement are, in the order in which they run", () => {
    const part = (text: string): Statement => ({ text, params: [] });
    const whole: Statement = {
      ...part("SELECT 2"),
      before: [part("SELECT 1")],
      after: [part("SELECT N'it''s'")],
    };
    expect(prepareStatement(whole)).toEqual([
      "EXEC sys.sp_describe_first_result_set @tsql = N'SELECT 1';",
      "EXEC sys.sp_describe_first_result_set @tsql = N'SELECT 2';",
      "EXEC sys.sp_describe_first_result_set @tsql = N'SELECT N''it''''s''';",
    ]);
  });
});

function settingsOf() {
  return { columns: [], groups: "one", mostRows: 10, deadLetter: {} } as const;
}

describe("22: what the answer says of the statement", () => {
  const said = (number: number, message = `error ${number}`) =>
    Object.assign(new Error(message), { number });

  test.each([102, 156, 207, 208, 229, 230, 262, 2812])("Msg %i refuses it", (number) => {
    const error = said(number);
    expect(refusalIn(error)).toBe(error);
  });

  test("the error that tells is the one that counts, not the one that it came before", () => {
    const column = said(207, "Invalid column name 'grp'.");
    const error = Object.assign(said(11501, "The batch could not be analyzed"), {
      precedingErrors: [column, said(207, "Invalid column name 'due'.")],
    });
    expect(refusalIn(error)).toBe(column);
  });

  test.each([11501, 11509, 11512, 11513, 11519, 11524, 11526, 11530, 206, 257, 33557097])(
    "Msg %i says nothing of it",
    (number) => expect(refusalIn(said(number))).toBeUndefined(),
  );

  test("a server without the procedure, or a login that may not call it, says nothing of it", () => {
    const missing = "Could not find stored procedure 'sys.sp_describe_first_result_set'.";
    const denied =
      "The EXECUTE permission was denied on the object 'sp_describe_first_result_set', database 'mssqlsystemresource', schema 'sys'.";
    expect(refusalIn(said(2812, missing))).toBeUndefined();
    expect(refusalIn(said(229, denied))).toBeUndefined();
  });
});
