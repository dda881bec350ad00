/**
 * The SQL of the inbox on SQL Server, as it is sent: read by a grammar of T-SQL (see test/support/tsql.ts), and held
 * in inbox-sql-sqlserver/*.sql, a file a statement, so that a change shows in review.
 */
import { describe, expect, test } from "vitest";
import {
  defaultSchema,
  type InboxSchema,
  inboxColumnKeys,
} from "../../src/dialect/inbox-schema.ts";
import type { InboxStatement } from "../../src/dialect/inbox-statement.ts";
import { sqlserverInbox } from "../../src/dialect/sqlserver/inbox.ts";
import { sqlserverInboxAdministration } from "../../src/dialect/sqlserver/inbox-administration.ts";
import { claimWindow } from "../../src/dialect/sqlserver/inbox-claim.ts";
import { sqlserverInboxStatements } from "../../src/dialect/sqlserver/inbox-contract.ts";
import {
  aggregateIndexDdl,
  inboxDdl,
  inboxDdlText,
} from "../../src/dialect/sqlserver/inbox-ddl.ts";
import { valuesText } from "../../src/dialect/sqlserver/sql.ts";
import { inboxSql } from "../../src/queuebox/inbox-sql.ts";
import { tsqlFaults } from "../support/tsql.ts";

/** Another name for each column and the table, some of which need their brackets. */
const mapped: InboxSchema = {
  ...defaultSchema,
  ...Object.fromEntries(inboxColumnKeys.map((key) => [key, `${key}$1`])),
  table: "Messaging.letters",
  payload: "select",
};

const five = sqlserverInboxStatements(defaultSchema);

const SETTINGS = [
  ["", { batchSize: 10, chargeExpired: false }],
  ["-one", { batchSize: 1, chargeExpired: false }],
  ["-charging", { batchSize: 10, chargeExpired: true }],
] as const;

function statementsOf(
  schema: InboxSchema,
  settings: { batchSize: number; chargeExpired: boolean },
) {
  const { claimWindow: _, ...statements } = sqlserverInbox.statements(schema, settings);
  return Object.entries(statements).map(
    ([name, statement]) => [kebab(name), statement] satisfies [string, InboxStatement],
  );
}

/** Those of the command line. */
function administrationOf(schema: InboxSchema) {
  const { columns: _, ids: __, ...statements } = sqlserverInboxAdministration;
  return Object.entries(statements).map(
    ([name, build]) => [`admin-${kebab(name)}`, build(schema)] satisfies [string, InboxStatement],
  );
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

const everything = [
  ...Object.entries(five).map(([name, statement]) => [`public-${name}`, statement] as const),
  ...SETTINGS.flatMap(([suffix, settings]) =>
    statementsOf(defaultSchema, settings)
      // The settings are of the claims alone.
      .filter(([name]) => suffix === "" || name.startsWith("claim"))
      .map(([name, statement]) => [`${name}${suffix}`, statement] as const),
  ),
  ...administrationOf(defaultSchema),
  ...administrationOf(mapped).map(([name, statement]) => [`mapped-${name}`, statement] as const),
  ...Object.entries(sqlserverInboxStatements(mapped)).map(
    ([name, statement]) => [`mapped-public-${name}`, statement] as const,
  ),
  ...statementsOf(mapped, { batchSize: 10, chargeExpired: true }).map(
    ([name, statement]) => [`mapped-${name}`, statement] as const,
  ),
];

test("every statement is here once", () => {
  const names = everything.map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !name.includes("-one") && !name.includes("mapped"))).toEqual([
    "public-claim",
    "public-renew",
    "public-complete",
    "public-retry",
    "public-dead",
    "claim",
    "claim-past-by-aggregate",
    "claim-past-in-order",
    "look-again",
    "renew-all",
    "release-all",
    "complete-or-fail",
    "retry",
    "dead",
    "read-back",
    "requirements",
    "columns",
    "indexes",
    "timeouts",
    "claim-charging",
    "claim-past-by-aggregate-charging",
    "claim-past-in-order-charging",
    "admin-status",
    "admin-list",
    "admin-show",
    "admin-retry",
    "admin-retry-of-source",
    "admin-purge",
    "admin-purge-old",
  ]);
});

describe.each(everything)("%s", (name, statement) => {
  const { params, text } = statement;

  test("is a batch of T-SQL that uses each of its parameters, and no others", () => {
    expect(tsqlFaults(text, params.length)).toEqual([]);
  });

  test("is this text", async () => {
    await expect(`-- ${params.join(", ")}\n${text}\n`).toMatchFileSnapshot(
      `inbox-sql-sqlserver/${name}.sql`,
    );
  });

  test("has one instant, and never that of the server's time zone", () => {
    expect(text).not.toMatch(/GETDATE|SYSDATETIME\(|CURRENT_TIMESTAMP/i);
    const instants = text.match(/SYSUTCDATETIME\(\)/g) ?? [];
    expect(instants.length).toBeLessThanOrEqual(1);
  });

  test("uses READPAST only with locks of its own, but for a claim's first reading", () => {
    const alone = text.match(/WITH \(READPAST\)/g) ?? [];
    if (!/claim/.test(name)) expect(alone).toEqual([]);
  });

  test("says whose a column is by a name that the batch gives", () => {
    const given = new Set([...text.matchAll(/\bAS (\w+)\b/g)].map(([, alias]) => alias));
    for (const own of ["deleted", "inserted", "sys"]) given.add(own);
    const used = [...text.matchAll(/(?<![\w\]])(\w+)\.\[/g)].map(([, alias]) => alias);
    expect(used.filter((alias) => !given.has(alias))).toEqual([]);
  });
});

describe("the public statements", () => {
  test("are those of inboxSql", () => {
    expect(inboxSql("sqlserver", defaultSchema)).toEqual(five);
    expect(inboxSql("sqlserver")).toEqual(five);
    expect(() => inboxSql("sqlserver", { ...defaultSchema, id: "a]b" })).toThrow(RangeError);
  });

  test("take their parameters in the contract's order", () => {
    expect(
      Object.fromEntries(Object.entries(five).map(([name, { params }]) => [name, params])),
    ).toEqual({
      claim: ["source", "batch", "leaseMs", "candLimit"],
      renew: ["leaseMs", "id", "token"],
      complete: ["id", "token"],
      retry: ["delayMs", "error", "id", "token"],
      dead: ["error", "id", "token"],
    });
  });

  test("declare no variable that a parameter may be called in another language", () => {
    const params: string[] = Object.values(five).flatMap((statement) => [...statement.params]);
    const taken = params.flatMap((param) => [
      param,
      param.replace(/[A-Z]/g, (letter) => `_${letter}`),
    ]);
    for (const { text } of Object.values(five)) {
      const declared = [...text.matchAll(/(?:DECLARE|,) @(\w+) (?:\w+)/g)].map(([, name]) => name);
      expect(declared).toContain("now");
      for (const name of taken) expect(declared).not.toContain(name.toLowerCase());
    }
  });

  test("begin and end no transaction", () => {
    for (const { text } of Object.values(five)) {
      expect(text).not.toMatch(/BEGIN TRAN|COMMIT|ROLLBACK/i);
    }
  });
});

describe("the DDL", () => {
  test("is this text", async () => {
    await expect(inboxDdlText({ extraIndexes: true })).toMatchFileSnapshot(
      "inbox-sql-sqlserver/ddl.sql",
    );
    await expect(inboxDdlText({ schema: mapped })).toMatchFileSnapshot(
      "inbox-sql-sqlserver/mapped-ddl.sql",
    );
  });

  test("is T-SQL, each statement by itself and all as one script", () => {
    for (const schema of [defaultSchema, mapped]) {
      const options = { schema, extraIndexes: true };
      for (const statement of inboxDdl(options)) expect(tsqlFaults(statement, 0)).toEqual([]);
      expect(tsqlFaults(inboxDdlText(options), 0)).toEqual([]);
    }
  });

  test("has the table and V10's indexes, and the rest where it is asked for", () => {
    expect(inboxDdl()).toHaveLength(4);
    expect(inboxDdl({ extraIndexes: true })).toHaveLength(5);
    expect(inboxDdl({ extraIndexes: true })[4]).toBe(aggregateIndexDdl(defaultSchema));
  });

  test("names stay within 128 characters", () => {
    const schema = { ...defaultSchema, table: `${"s".repeat(63)}.${"t".repeat(63)}` };
    const names = inboxDdl({ schema, extraIndexes: true }).flatMap((statement) =>
      [...statement.matchAll(/CREATE INDEX \[([^\]]+)\]/g)].map(([, name = ""]) => name),
    );
    expect(names).toHaveLength(4);
    expect(new Set(names).size).toBe(4);
    expect(names.every((name) => name.length <= 128)).toBe(true);
  });
});

test("a window is that of the contract, and a batch is a whole number", () => {
  expect([1, 17, 200].map(claimWindow)).toEqual([50, 51, 500]);
  for (const wrong of [0, -1, 1.5, Number.NaN, 1e9]) {
    expect(() => claimWindow(wrong)).toThrow(RangeError);
  }
});

test("lists travel as JSON", () => {
  expect(valuesText([])).toBe("[]");
  expect(valuesText(['a"b', 1, null])).toBe('[["a\\"b"],[1],[null]]');
});
