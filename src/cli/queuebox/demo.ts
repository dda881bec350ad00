import { type Command, Option } from "commander";
import { UsageError } from "../cli-error.ts";
import type { Engine } from "../demo/demo-database.ts";
import { KEEPER_COMMAND } from "../demo/embedded-postgres.ts";
import { LINE_FORMAT } from "../demo/message-file.ts";
import { keepPostgres } from "../demo/postgres-keeper.ts";
import { runDemo } from "../demo/run-demo.ts";
import { helpEnd } from "../help.ts";
import { postgresOption, postgresUrl } from "../options/database-option.ts";
import { untilStopped } from "../stop.ts";

interface DemoOptions {
  readonly databaseUrl?: string;
  readonly engine: Engine;
  readonly input?: string;
  readonly keep?: boolean;
  readonly json?: boolean;
}

export function addDemo(parent: Command): void {
  parent
    .command("demo")
    .description("watch a worker at work, on a database of its own")
    .option("--input <messages.ndjson>", "your own messages instead of the demo's orders")
    .addOption(postgresOption)
    .addOption(
      new Option("--engine <name>", "the embedded database, where no server is given")
        .choices(["auto", "embedded-postgres", "pglite"])
        .default("auto"),
    )
    .option("--keep", "leave the demo's tables on the server at the end")
    .option("--json", "print the summary alone, as JSON")
    .addHelpText(
      "after",
      helpEnd(
        [
          "intray queuebox demo",
          "intray queuebox demo --input messages.ndjson",
          "DATABASE_URL=postgres://localhost/shop intray queuebox demo --keep",
        ],
        [
          "On a server of yours it works in a schema of its own (intray_demo_...), which it drops at the end.",
          "Ctrl-C stops it in good order, with a summary of what was done and exit code 0.",
          "",
          LINE_FORMAT,
        ].join("\n"),
      ),
    )
    .action(demo);
  parent.command(KEEPER_COMMAND, { hidden: true }).action(keepPostgres);
}

async function demo(options: DemoOptions): Promise<void> {
  const url = postgresUrl(options.databaseUrl);
  const { engine, input, json = false, keep = false } = options;
  if (keep && url === undefined) {
    throw new UsageError("--keep takes a DATABASE_URL: an embedded database ends with the demo");
  }
  await untilStopped(async (signal) => {
    try {
      await runDemo({ url, engine, input, keep, json }, signal);
    } catch (error) {
      // Stopped before there was anything to sum up.
      if (!signal.aborted || error !== signal.reason) throw error;
      if (!json) process.stdout.write("stopped\n");
    }
  });
}
