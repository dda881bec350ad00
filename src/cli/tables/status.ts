import type { Command } from "commander";
import { type GroupStatus, tableStatus } from "../../broker/table-status.ts";
import { pause, systemClock } from "../../clock.ts";
import { type FormName, tableLabel } from "../../table/description.ts";
import type { Config } from "../config/check-config.ts";
import { databasesNamed, loadConfig } from "../config/load-config.ts";
import { type PlacedTable, tablesNamed } from "../config/named-table.ts";
import { withConfigured } from "../config/open-database.ts";
import { helpEnd } from "../help.ts";
import { type ConfigOptions, configOption, databaseNameOption } from "../options/config-option.ts";
import { durationText, parseCount, parseName } from "../options/values.ts";
import { type Column, printJson, printLine, tableText } from "../output.ts";
import { untilStopped } from "../stop.ts";
import { rowsAt, seeTable } from "./see-table.ts";

interface StatusOptions extends ConfigOptions {
  readonly table?: string;
  readonly group?: string;
  readonly limit: number;
  readonly watch?: number | true;
}

export function addStatus(parent: Command): void {
  parent
    .command("status")
    .description("show what waits, is in work, has expired and is processed, group by group")
    .addOption(configOption)
    .addOption(databaseNameOption)
    .option("--table <name>", "this table alone, as schema.table or table", parseName)
    .option("--group <name>", "this group alone")
    .option("--limit <n>", "at most so many groups of a table", parseCount(100_000), 1_000)
    .option(
      "--watch [seconds]",
      "look again and again, every 2 seconds by default",
      parseCount(3600),
    )
    .option("--json", "print JSON; with --watch one line a look")
    .addHelpText(
      "after",
      helpEnd(
        ["intray status", "intray status --table app.email_jobs --json", "intray status --watch 5"],
        [
          "In work is what a lease holds. Row locks and advisory locks are not seen from outside: the rows",
          "that they hold are still counted as waiting, and in work is -. It reads the tables whole.",
        ].join("\n"),
      ),
    )
    .action(showStatus);
}

/** A group of a table, as a line has it. */
interface Line extends GroupStatus {
  readonly database: string;
  readonly table: string;
  readonly form: FormName;
  /** The configuration says that dead letters go there. */
  readonly deadLetters: boolean;
}

async function showStatus(options: StatusOptions): Promise<void> {
  const config = await loadConfig(options.config);
  const databases = databasesNamed(config, options.database);
  const tables = tablesNamed(config, databases, options.table === undefined ? [] : [options.table]);
  await look(config, tables, options);
  const { watch } = options;
  if (watch === undefined) return;
  await untilStopped(async (signal) => {
    while (!signal.aborted) {
      await pause(systemClock, (watch === true ? 2 : watch) * 1000, signal);
      if (!signal.aborted) await look(config, tables, options);
    }
  });
}

async function look(
  config: Config,
  tables: readonly PlacedTable[],
  options: StatusOptions,
): Promise<void> {
  const lines: Line[] = [];
  for (const database of new Set(tables.map((each) => each.database))) {
    const ours = new Map(
      tables
        .filter((each) => each.database === database)
        // Messages of a headers layout stand in its headers table.
        .map(({ table }) => [tableLabel(table), table] as const)
        .reverse(),
    );
    await withConfigured(config, database, async ({ source }) => {
      for (const [label, table] of [...ours].reverse()) {
        const { limit } = options;
        const settings = { limit, dialect: database.dialect };
        await seeTable(source, { database, table });
        const groups = await tableStatus(source, rowsAt(table, options.group), settings);
        const { form } = table;
        const isDead = ({ group }: GroupStatus) =>
          database.deadLetters.some(
            (each) =>
              tableLabel(each.table) === label &&
              (each.group === undefined || each.group === group),
          );
        lines.push(
          ...groups.map((each) => ({
            database: database.name,
            table: label,
            form,
            ...each,
            deadLetters: isDead(each),
          })),
        );
      }
    });
  }
  if (options.json === true) {
    printJson({ groups: lines.map((line) => ({ ...line })) });
    return;
  }
  if (options.watch !== undefined) printLine(new Date().toISOString());
  printLine(lines.length === 0 ? "no row in any table" : tableText(COLUMNS, lines));
}

const number = (value: number | null): string => (value === null ? "-" : String(value));

const COLUMNS: readonly Column<Line>[] = [
  { title: "database", text: ({ database }) => database },
  { title: "table", text: ({ table }) => table },
  {
    title: "group",
    text: ({ deadLetters, group }) => `${group ?? "-"}${deadLetters ? " (dead)" : ""}`,
  },
  { title: "waiting", text: ({ waiting }) => number(waiting), align: "right" },
  { title: "due later", text: ({ future }) => number(future), align: "right" },
  { title: "in work", text: ({ inWork }) => number(inWork), align: "right" },
  { title: "expired", text: ({ expired }) => number(expired), align: "right" },
  { title: "processed", text: ({ processed }) => number(processed), align: "right" },
  { title: "oldest due", text: oldestText },
];

function oldestText({ oldestDue, oldestDueMs }: GroupStatus): string {
  if (oldestDue === null || oldestDueMs === null) return "-";
  return `${durationText(oldestDueMs)} ago (${oldestDue})`;
}
