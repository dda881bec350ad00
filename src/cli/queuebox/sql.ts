import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { UsageError } from "../cli-error.ts";
import { helpEnd } from "../help.ts";
import { checkDialect, dialectOption } from "../options/dialect-option.ts";
import { readSchema, schemaOption } from "../options/schema-option.ts";
import { printJson, printLine } from "../output.ts";
import { type SqlFile, sqlFiles } from "./sql-files.ts";

interface SqlOptions {
  readonly dialect: string;
  readonly schema?: string;
  readonly out?: string;
  readonly json?: boolean;
}

export function addSql(parent: Command): void {
  parent
    .command("sql")
    .description("print the five statements of a worker, for other languages")
    .addOption(dialectOption)
    .addOption(schemaOption)
    .option("--out <folder>", "write claim.sql, renew.sql, complete.sql, retry.sql and dead.sql")
    .option("--json", "print the statements as JSON")
    .addHelpText(
      "after",
      helpEnd(
        [
          "intray queuebox sql --dialect postgresql --out sql/",
          "intray queuebox sql --dialect sqlserver --out sql/",
          `psql shop -v source="'orders'" -v batch=10 -v lease_ms=30000 -v cand_limit=50 -f sql/claim.sql`,
        ],
        [
          "Parameters are written :name. claim takes :source :batch :lease_ms :cand_limit; renew :id :token",
          ":lease_ms; complete :id :token; retry :id :token :delay_ms :error; dead :id :token :error.",
        ].join("\n"),
      ),
    )
    .action(printSql);
}

async function printSql(options: SqlOptions): Promise<void> {
  const dialect = checkDialect(options.dialect);
  const files = sqlFiles(dialect, await readSchema(options.schema));
  if (options.out !== undefined) {
    const paths = await writeFiles(options.out, files);
    if (options.json === true) printJson({ dialect, files: paths });
    else for (const path of paths) printLine(path);
  } else if (options.json === true) {
    const statements = files.map(({ name, text, params }) => [name, { text, params }] as const);
    printJson({ dialect, statements: Object.fromEntries(statements) });
  } else {
    printLine(
      files
        .map(({ name, content }) => `-- ${name}.sql\n${content}`)
        .join("\n")
        .trimEnd(),
    );
  }
}

async function writeFiles(folder: string, files: readonly SqlFile[]): Promise<string[]> {
  try {
    await mkdir(folder, { recursive: true });
    const paths: string[] = [];
    for (const { name, content } of files) {
      const path = join(folder, `${name}.sql`);
      await writeFile(path, content);
      paths.push(path);
    }
    return paths;
  } catch (error) {
    throw new UsageError(
      `--out: cannot write to ${folder}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
