import { expect, test } from "vitest";
import { contractTable, type Report } from "../../scripts/contract-table.mjs";

type Ran = readonly [target: string, title: string, status?: string];

function reportOf(tests: readonly Ran[], name = "/tests/broker-claims.test.ts"): Report {
  const assertionResults = tests.map(([target, title, status = "passed"]) => ({
    ancestorTitles: [target],
    title,
    status,
  }));
  return { testResults: [{ name, assertionResults }] };
}

/** What the table says of a point in the column with that head. */
function cell(table: string, point: number, head: string): string | undefined {
  const rows = table.split("\n").map((line) => line.split("|").map((each) => each.trim()));
  const heads = rows.find((cells) => cells.includes(head)) ?? [];
  return rows.find((cells) => cells[1] === String(point))?.[heads.indexOf(head)];
}

test("points are ticked by database and driver, of each point that a name begins with", () => {
  const table = contractTable(reportOf([["pg", "T3, 14, 15: rows come in order"]]), "");
  expect(cell(table, 14, "PostgreSQL<br>pg")).toBe("✓");
  expect(cell(table, 15, "PostgreSQL<br>pg")).toBe("✓");
  expect(cell(table, 16, "PostgreSQL<br>pg")).toBe("");
  expect(cell(table, 14, "PostgreSQL<br>postgres.js")).toBe("");
});

test("one failure among tests that passed is told, and a skipped test shows nothing", () => {
  const table = contractTable(
    reportOf([
      ["pg", "14: one"],
      ["pg", "14: two", "failed"],
      ["pg", "15: three", "skipped"],
      ["pglite", "25: four", "skipped"],
    ]),
    "",
  );
  expect(cell(table, 14, "PostgreSQL<br>pg")).toBe("1 failed");
  expect(cell(table, 15, "PostgreSQL<br>pg")).toBe("");
  expect(cell(table, 25, "PGlite")).toBe("b");
});

test("tests of the inbox show no point of the tables", () => {
  const report = reportOf([["pg", "14: rows come in order"]], "/tests/inbox-claims.test.ts");
  expect(cell(contractTable(report, ""), 14, "PostgreSQL<br>pg")).toBe("");
});

test("a column that the run does not have is kept, wherever it stood, and one that it has is not", () => {
  const before = [
    "| | | PGlite | MySQL<br>mysql2 | PostgreSQL<br>pg |",
    "| 14 | which rows | ✓ | ✓ | ✓ |",
    "| 15 | in what order | ✓ | 2 failed | ✓ |",
  ].join("\n");
  const table = contractTable(reportOf([["pg", "14: rows come in order"]]), before);
  expect(cell(table, 14, "MySQL<br>mysql2")).toBe("✓");
  expect(cell(table, 15, "MySQL<br>mysql2")).toBe("2 failed");
  expect(cell(table, 14, "PostgreSQL<br>pg")).toBe("✓");
  expect(cell(table, 15, "PostgreSQL<br>pg")).toBe("");
  expect(cell(table, 14, "MySQL<br>mariadb")).toBe("");
});

test("a table that its own run wrote is what that run writes again", () => {
  const report = reportOf([
    ["mysql2 on MySQL", "14: rows come in order"],
    ["sqlite file", "29: round trips", "skipped"],
  ]);
  const table = contractTable(report, "");
  expect(contractTable(report, table)).toBe(table);
});
