/**
 * The SQL of described tables on SQL Server, as it is sent. It stands in table-sql-sqlserver/, a file a
 * statement, so that a change shows in review: `npx vitest run --project unit -u` writes the files anew. No server runs here: a grammar
 * of T-SQL reads every batch, and what a grammar does not know is asserted by the words.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ClaimSettings } from "../../src/dialect/dialect.ts";
import { sqlserver } from "../../src/dialect/sqlserver/sqlserver.ts";
import type { Statement } from "../../src/dialect/statement.ts";
import type { TableDescription } from "../../src/table/description.ts";
import { describeTable } from "../support/described-table.ts";
import { sqlTables, statementsOf } from "../support/table-sql.ts";
import { tsqlFaults } from "../support/tsql.ts";

/** More tables than the shared ones: what a claim's text depends on. */
const tables: Readonly<Record<string, TableDescription>> = {
  ...sqlTables,
  "row-lock-of-all-types": describeTable({
    name: "odd ]name",
    columns: {
      id: ["text", "id"],
      prio: ["bigint", "priority"],
      part: ["decimal", "partitionKey"],
      pay: ["bytes", "payload"],
      on: "boolean",
      at: "timestamp",
      price: "decimal",
      ref: "uuid",
      place: "custom",
    },
  }),
  "row-lock-fifo-of-uuids": describeTable({
    columns: {
      id: ["uuid", "id"],
      grp: ["uuid", "group"],
      prio: ["integer", "priority"],
      due: ["timestamp", "retryAfter"],
      done: ["timestamp", "processedAt"],
    },
    fifo: "fifo",
  }),
  "lease-fifo-of-texts": describeTable({
    columns: {
      id: ["text", "id"],
      grp: ["integer", "group"],
      lease: ["timestamp", "lockedUntil"],
      done: ["timestamp", "processedAt"],
      pay: ["text", "payload"],
    },
    fifo: "fifo",
  }),
  "advisory-lock-of-bytes": describeTable({
    columns: { id: ["smallint", "id"], key: "bytes", pay: ["json", "payload"] },
    lockKey: ["key"],
  }),
};

function everyStatement(table: TableDescription): [string, Statement][] {
  const { admin, inspection } = sqlserver;
  const { group, payload, processedAt } = table.roles;
  const columns = table.columns.filter(({ role }) => role === undefined || role === "payload");
  const settings = { columns: columns.slice(0, 3), groups: "none", mostRows: 3 } as const;
  const coarse = { ...settings, leaseMs: 1000, leasePrecision: 0 };
  const everything: ClaimSettings = { ...settings, columns };
  const [reason] = table.columns.filter(({ name }) => name === "why");
  const all: [string, Statement | undefined][] = [
    ...statementsOf(sqlserver, table),
    ...aroundEvents(table),
    ["claim without a group", formsOf(table, group === undefined ? everything : settings)],
    [
      "claim to a second",
      table.form === "lease" ? sqlserver.lease?.(table, coarse).claim : undefined,
    ],
    ["insert with a delay", sqlserver.insert(table, table.columns, 1, { dueInMs: true })],
    ["insert without ids", ofRows(table, columns)],
    [
      "insert of defaults",
      table.roles.id?.type === "text" ? undefined : sqlserver.insert(table, [], 2),
    ],
    ["status", admin?.status(table)],
    ["rows", admin?.rows(table, { order: "ascending", ...(reason && { reason }) })],
    ["rows, last first", admin?.rows(table, { order: "descending" })],
    ["row", admin?.row(table)],
    ["move to a group", group && admin?.move(table, {})],
    ["move to a table", payload && admin?.move(table, { table, copied: [[payload, payload]] })],
    ["remove", admin?.remove(table)],
    ["purge", processedAt && admin?.purge(table)],
    ...inspection
      .indexes(table)
      .map(({ present }, at): [string, Statement] => [`index ${at + 1}`, present]),
  ];
  return all.flatMap(([name, statement]) => (statement === undefined ? [] : [[name, statement]]));
}

/** What the library runs around events of the service's own. */
function aroundEvents(table: TableDescription): [string, Statement][] {
  const own = async (): Promise<never> => Promise.reject(new Error("nobody calls it"));
  const custom = {
    rowLock: { claim: own },
    lease: { claim: own, extend: own },
    advisoryLock: { lock: own, unlock: own },
  };
  const known = new Set(statementsOf(sqlserver, table).map(([name]) => name));
  return statementsOf(sqlserver, { ...table, custom: custom[table.form] }).filter(
    ([name]) => !known.has(name),
  );
}

function ofRows(table: TableDescription, columns: TableDescription["columns"]): Statement {
  return sqlserver.insert(table, columns, table.roles.id?.type === "text" ? 1 : 2);
}

function formsOf(table: TableDescription, settings: ClaimSettings): Statement | undefined {
  if (table.fifo !== "none") return undefined;
  switch (table.form) {
    case "rowLock":
      return sqlserver.rowLock?.(table, settings).claim;
    case "lease":
      return sqlserver.lease?.(table, { ...settings, leaseMs: 1000 }).claim;
    case "advisoryLock":
      return sqlserver.advisoryLock?.(table, settings).claim;
  }
}

/** A statement's own text, or each of those that its program runs. */
function partsOf([which, statement]: readonly [string, Statement]): [string, Statement][] {
  const { program } = statement;
  if (program === undefined) return [[which, statement]];
  return program.parts.map((part) => [which, part]);
}

/** A file a statement; a statement that is several has one for each. */
function fileNames(names: readonly string[]): string[] {
  const slugs = names.map((each) => each.replaceAll(/[^\w]+/g, "-").toLowerCase());
  return slugs.map((slug, at) => {
    const before = slugs.slice(0, at).filter((each) => each === slug).length;
    return before === 0 ? `${slug}.sql` : `${slug}-${before + 1}.sql`;
  });
}

// The grammar takes its time where other things run too.
describe.each(Object.entries(tables))("%s", { timeout: 120_000 }, (name, table) => {
  const statements = everyStatement(table)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(partsOf);

  test("has these statements", async () => {
    const files = new Map(
      fileNames(statements.map(([which]) => which)).map((file, at) => [file, at]),
    );
    for (const [file, at] of files) {
      const [which, { params, text }] = statements[at] ?? ["", { params: [], text: "" }];
      const shown = `-- ${which}: ${params.join(", ")}\n${text}\n`;
      await expect(shown).toMatchFileSnapshot(`table-sql-sqlserver/${name}/${file}`);
    }
    // None is of a statement that is no more. They are written when the run ends, where they are new.
    const folder = join(import.meta.dirname, "table-sql-sqlserver", name);
    for (const file of await readdir(folder).catch(() => [])) {
      expect([...files.keys(), "ddl.sql"]).toContain(file);
    }
  });

  test("has this DDL", async () => {
    const text = sqlserver.ddl(table).map((each) => `${each};\n`);
    await expect(text.join("\n")).toMatchFileSnapshot(`table-sql-sqlserver/${name}/ddl.sql`);
    for (const each of [
      ...sqlserver.ddl(table),
      ...sqlserver.inspection.indexes(table).map(({ ddl }) => ddl),
    ]) {
      expect(tsqlFaults(each, 0)).toEqual([]);
    }
  });

  test.each(statements)("%s is T-SQL, and locks as it is to", (_which, { params, text }) => {
    expect(tsqlFaults(text, params.length)).toEqual([]);
    // With READ_COMMITTED_SNAPSHOT on, READPAST is refused beside READ COMMITTED by versions.
    for (const [hint] of text.matchAll(/WITH \([A-Z, ]+\)/g)) {
      if (/READPAST|NOWAIT|UPDLOCK/.test(hint)) expect(hint).toContain("READCOMMITTEDLOCK");
      if (/READPAST|NOWAIT|UPDLOCK/.test(hint)) expect(hint).toContain("ROWLOCK");
    }
    // An OUTPUT to the client is refused where the table has triggers (Msg 334).
    const outputs = text.match(/^OUTPUT /gm) ?? [];
    expect(text.match(/^OUTPUT [^;]*?\bINTO @/gm) ?? []).toHaveLength(outputs.length);
  });
});

test.each([
  ["version", sqlserver.inspection.version],
  ["timeouts", sqlserver.inspection.timeouts],
  ["isolation", sqlserver.inspection.isolation],
  ["session", sqlserver.inspection.session],
])("%s is T-SQL", (_which, statement) => {
  expect(tsqlFaults(statement?.text ?? "", statement?.params.length)).toEqual([]);
});
