import { dirname, join, relative, resolve } from "node:path";
import type { Command } from "commander";
import { bind } from "../../dialect/bind.ts";
import { withConnection } from "../../driver/checkout.ts";
import type { Connection } from "../../driver/connection.ts";
import { runSteps } from "../../driver/run-steps.ts";
import { type TableDescription, tableLabel } from "../../table/description.ts";
import { type CheckedTable, checkTable } from "../check/check-table.ts";
import {
  readShapes,
  SCHEMA_FILE,
  type Shapes,
  shapesOf,
  writeShapes,
} from "../check/schema-file.ts";
import { compareTable } from "../check/table-shape.ts";
import { CliError, UsageError } from "../cli-error.ts";
import type { Config, ConfiguredDatabase } from "../config/check-config.ts";
import { databasesNamed, loadConfig } from "../config/load-config.ts";
import { withConfigured } from "../config/open-database.ts";
import { helpEnd } from "../help.ts";
import type { Json } from "../json-text.ts";
import { type ConfigOptions, configOption, databaseNameOption } from "../options/config-option.ts";
import { type Column, printable, printJson, printLine, tableText } from "../output.ts";

interface CheckOptions extends ConfigOptions {
  readonly write?: string | true;
  readonly offline?: string | true;
}

export function addCheck(parent: Command): void {
  parent
    .command("check")
    .description("prepare every statement of the described tables on their databases")
    .addOption(configOption)
    .addOption(databaseNameOption)
    .option("--write [file]", `save what the databases have, to commit: ${SCHEMA_FILE} by default`)
    .option("--offline [file]", "check against that file, with no database")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      helpEnd(
        ["intray check", "intray check --write", "intray check --offline --json"],
        [
          `${SCHEMA_FILE} stands beside the configuration. It holds the columns of each table, their types`,
          "and whether they may be null, and nothing of their rows. --offline compares the descriptions with",
          "it, and prepares nothing. Advice alone fails no check.",
        ].join("\n"),
      ),
    )
    .action(check);
}

/** A database with what was found in it. */
interface CheckedDatabase {
  readonly name: string;
  /** Undefined: it was not asked. */
  readonly server?: string;
  readonly tables: readonly CheckedTable[];
}

async function check(options: CheckOptions): Promise<void> {
  const { database, offline, write } = options;
  if (write !== undefined && (offline !== undefined || database !== undefined)) {
    throw new UsageError(
      "check --write asks all databases: leave --offline and --database out beside it",
    );
  }
  const config = await loadConfig(options.config);
  const databases = databasesNamed(config, database);
  const checked: CheckedDatabase[] = [];
  if (offline === undefined) {
    for (const each of databases) checked.push(await checkDatabase(config, each));
  } else {
    const shapes = await readShapes(schemaPath(config, offline));
    for (const each of databases) checked.push(compareOffline(each, shapes));
  }
  const count = problemCount(checked);
  const path = write === undefined || count > 0 ? undefined : schemaPath(config, write);
  if (path !== undefined) await writeShapes(path, shapesOf(checked));
  if (options.json === true) printJson(checkJson(checked, path));
  else printText(checked, path);
  if (count === 0) return;
  const unwritten = write === undefined ? "" : "; nothing was written";
  throw new CliError(
    "CHECK_FAILED",
    `${count} ${count === 1 ? "problem" : "problems"} in ${config.path}${unwritten}`,
  );
}

function schemaPath({ path }: Config, given: string | true): string {
  return given === true ? join(dirname(path), SCHEMA_FILE) : resolve(given);
}

async function checkDatabase(config: Config, each: ConfiguredDatabase): Promise<CheckedDatabase> {
  return await withConfigured(
    config,
    each,
    async ({ source }) =>
      withConnection(source, new AbortController().signal, async (connection) => {
        const server = await serverOf(each, connection);
        const tables: CheckedTable[] = [];
        for (const table of each.tables) {
          const isNamed = each.deadLetters.some(
            (place) => place.group === undefined && tableLabel(place.table) === tableLabel(table),
          );
          tables.push(await checkTable(table, each.dialect, connection, isNamed));
        }
        return { name: each.name, server, tables };
      }),
    // What is wrong with columns in the sessions that the server gives is to be seen.
    { sessions: "server" },
  );
}

/** @throws CliError for a server that is too old. */
async function serverOf(
  { dialect: { inspection }, name }: ConfiguredDatabase,
  connection: Connection,
): Promise<string> {
  const step = bind(inspection.version, {});
  const [result] = await runSteps<{ version: unknown; label: unknown }>(connection, [step]);
  const row = result?.rows[0];
  const { label, version } = inspection.oldestVersion;
  if (row === undefined || Number(row.version) >= version) return String(row?.label ?? "unknown");
  throw new CliError(
    "OLD_SERVER",
    `${name}: the server is ${String(row.label)}; intray takes ${label} or later`,
  );
}

function compareOffline(each: ConfiguredDatabase, shapes: Shapes): CheckedDatabase {
  const known = shapes.get(each.name);
  const tables = each.tables.map((table): CheckedTable => {
    const label = tableLabel(table);
    const shape = known?.get(label);
    if (shape !== undefined) {
      return { table, shape, taken: 0, statements: 0, ...compareTable(table, shape, each.dialect) };
    }
    const message = `the file has no table ${label}: "intray check --write" writes it anew`;
    return { table, taken: 0, statements: 0, problems: [{ message }], advice: [] };
  });
  return { name: each.name, tables };
}

function problemCount(checked: readonly CheckedDatabase[]): number {
  return checked
    .flatMap(({ tables }) => tables)
    .reduce((sum, { problems }) => sum + problems.length, 0);
}

function checkJson(checked: readonly CheckedDatabase[], written: string | undefined): Json {
  return {
    ok: problemCount(checked) === 0,
    databases: checked.map(({ name, server, tables }) => ({
      name,
      server: server ?? null,
      tables: tables.map(({ advice, problems, shape, statements, table, taken }) => ({
        table: tableLabel(table),
        form: table.form,
        columns: shape?.size ?? 0,
        statements,
        taken,
        problems: problems.map((each) => ({ ...each })),
        advice: advice.map((each) => ({ ...each })),
      })),
    })),
    written: written ?? null,
  };
}

/** The messages of a headers layout stand in its table. */
function nameOf(table: TableDescription): string {
  return table.message === undefined ? tableLabel(table) : `${tableLabel(table)} (message)`;
}

interface Line {
  readonly database: string;
  readonly checked: CheckedTable;
}

function printText(checked: readonly CheckedDatabase[], written: string | undefined): void {
  const lines = checked.flatMap(({ name, tables }) =>
    tables.map((table): Line => ({ database: name, checked: table })),
  );
  for (const { checked: table, database } of lines) {
    const place = `${database}: ${nameOf(table.table)}`;
    for (const { message, statement } of table.problems) {
      const which = statement === undefined ? "" : `the statement "${statement}" is refused: `;
      printLine(printable(`${place}: ${which}${message}`));
    }
    for (const { message } of table.advice) printLine(printable(`${place}: advice: ${message}`));
  }
  printLine(tableText(COLUMNS, lines));
  if (written !== undefined) printLine(`written: ${relative(process.cwd(), written)}`);
}

const COLUMNS: readonly Column<Line>[] = [
  { title: "database", text: ({ database }) => database },
  { title: "table", text: ({ checked }) => nameOf(checked.table) },
  { title: "form", text: ({ checked }) => checked.table.form },
  { title: "columns", text: ({ checked }) => String(checked.shape?.size ?? 0), align: "right" },
  {
    title: "statements",
    text: ({ checked: { statements, taken } }) =>
      statements === 0 ? "-" : `${taken} of ${statements}`,
    align: "right",
  },
  {
    title: "result",
    text: ({ checked: { problems } }) =>
      problems.length === 0
        ? "fine"
        : `${problems.length} ${problems.length === 1 ? "problem" : "problems"}`,
  },
];
