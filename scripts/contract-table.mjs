/**
 * docs/contract-table.md: each point of the contract of tables by database and driver, from what a run of the tests
 * showed. The names of tests begin with the points that they show. `npm test` compares it with the committed one;
 *
 *     node scripts/contract-table.mjs
 *
 * runs the tests and writes it anew.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { POINTS, REASONS, TARGETS } from "./contract-points.mjs";
import { root, vitest } from "./lib.mjs";

const PATH = join(root, "docs", "contract-table.md");

const NAMES = Object.keys(TARGETS);

/** What a run's report makes of the table; a column whose database the run did not have stays as it was. */
export function contractTable(report, previous) {
  const cells = shownBy(report);
  const seen = NAMES.map((target) => [...cells.keys()].some((key) => key.endsWith(` ${target}`)));
  const kept = keptCells(previous);
  const row = (point) => {
    const shown = NAMES.map((target, index) => {
      const outcome = seen[index] ? cells.get(`${point} ${target}`) : kept(point, TARGETS[target]);
      const reason = REASONS.find(
        ({ points, targets }) => points.has(point) && targets.has(target),
      );
      return outcome || (reason?.mark ?? "");
    });
    return `| ${point} | ${POINTS[point]} | ${shown.join(" | ")} |`;
  };
  return [
    "# The contract, by database and driver",
    "",
    "Written by a run of the tests (`scripts/contract-table.mjs`), not by hand, and compared with each later run. ✓: tests",
    "that are named after the point ran there and passed. A letter: why there is none. Empty: no test there is named after",
    "the point. The columns of a database that a run does not have stay as the last run that had it wrote them, as MySQL's do",
    "in most: [MySQL and MariaDB](mysql.md) names the releases of those runs.",
    "",
    `| | | ${NAMES.map((each) => TARGETS[each]).join(" | ")} |`,
    `| --- | --- | ${NAMES.map(() => "---").join(" | ")} |`,
    ...Object.keys(POINTS).map(Number).map(row),
    "",
    ...REASONS.map(({ mark, text }) => `- **${mark}**: ${text}`),
    "",
  ].join("\n");
}

/** The cells of a table that was written before, by point and the head of their column. */
function keptCells(table) {
  const rows = table.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const heads = rows.find((cells) => cells.includes("PGlite")) ?? [];
  const byPoint = new Map(rows.map((cells) => [cells[1], cells]));
  return (point, head) =>
    heads.includes(head) ? byPoint.get(String(point))?.[heads.indexOf(head)] : undefined;
}

/** The table as it is committed. */
export function committedTable() {
  return readFile(PATH, "utf8").catch(() => "");
}

/** By point and target: "✓", or how many tests failed. Tests that were skipped show nothing. */
function shownBy(report) {
  const failed = new Map();
  for (const { assertionResults, name } of report.testResults) {
    if (/\/inbox-[^/]*$/.test(name)) continue;
    for (const { ancestorTitles, status, title } of assertionResults) {
      const target = ancestorTitles.find((each) => Object.hasOwn(TARGETS, each));
      if (target === undefined || (status !== "passed" && status !== "failed")) continue;
      for (const point of new Set([...ancestorTitles, title].flatMap(pointsOf))) {
        const key = `${point} ${target}`;
        failed.set(key, (failed.get(key) ?? 0) + (status === "failed" ? 1 : 0));
      }
    }
  }
  return new Map([...failed].map(([key, count]) => [key, count === 0 ? "✓" : `${count} failed`]));
}

/** The points that a name begins with: `T5, 27: a deadlock...`. */
function pointsOf(name) {
  const [, list = ""] = /^((?:[A-Z]?\d+(?:, | to )?)+)[,:] /.exec(name) ?? [];
  return list
    .split(", ")
    .filter((part) => /^\d+$/.test(part))
    .map(Number);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [path] = process.argv.slice(2);
  const write = async (report) => writeFile(PATH, contractTable(report, await committedTable()));
  if (path !== undefined) await write(JSON.parse(await readFile(path, "utf8")));
  else await vitest(["--project", "contract", "--project", "cli"], {}, write);
}
