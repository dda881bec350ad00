import { Command } from "commander";
import about from "../../package.json" with { type: "json" };
import { helpEnd } from "./help.ts";
import { addDdl } from "./queuebox/ddl.ts";
import { addDead } from "./queuebox/dead/dead.ts";
import { addDemo } from "./queuebox/demo.ts";
import { addSql } from "./queuebox/sql.ts";
import { addStatus } from "./queuebox/status.ts";
import { addCheck } from "./tables/check.ts";
import { addDdl as addTableDdl } from "./tables/ddl.ts";
import { addDead as addTableDead } from "./tables/dead/dead.ts";
import { addPurge } from "./tables/purge.ts";
import { addStatus as addTableStatus } from "./tables/status.ts";

/** The command line. `isJson`: commander keeps its errors to itself, since they are told as JSON. */
export function createProgram(isJson: boolean): Command {
  const program = new Command("intray")
    .description("Work with the queue tables in a service's own database.")
    .version(about.version)
    .exitOverride()
    .configureOutput({
      // Told once, where all errors are: without secrets, and as JSON where that was asked for.
      outputError: () => {},
      writeErr: (text) => {
        if (!isJson) process.stderr.write(text);
      },
    })
    .addHelpText(
      "after",
      helpEnd(
        ["intray check", "intray status", "intray queuebox demo"],
        "The tables are those of intray.config.ts (or .js); `queuebox` has commands of its own.",
      ),
    );
  addCheck(program);
  addTableDdl(program);
  addTableStatus(program);
  addTableDead(program);
  addPurge(program);
  const queuebox = program
    .command("queuebox")
    .description("the inbox table that a QueueBox server fills")
    .addHelpText(
      "after",
      helpEnd([
        "intray queuebox demo",
        "intray queuebox ddl --dialect postgresql | psql shop",
        "intray queuebox status --source orders",
        "intray queuebox dead list",
      ]),
    );
  addDemo(queuebox);
  addDdl(queuebox);
  addSql(queuebox);
  addStatus(queuebox);
  addDead(queuebox);
  return program;
}
