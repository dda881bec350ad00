import type { Command } from "commander";
import { helpEnd } from "../../help.ts";
import { addList } from "./list.ts";
import { addPurge } from "./purge.ts";
import { addRetry } from "./retry.ts";
import { addShow } from "./show.ts";

export function addDead(parent: Command): void {
  const dead = parent
    .command("dead")
    .description("dead letters of described tables: list, show, run again, throw away")
    .addHelpText(
      "after",
      helpEnd(
        [
          "intray dead list --table app.email_jobs --group emails-failed",
          "intray dead show 42 --table app.email_jobs --group emails-failed",
          "intray dead retry --table app.email_jobs --group emails-failed --to emails --all",
          "intray dead purge --table app.failed_jobs --id 42 --yes",
        ],
        [
          "A dead-letter queue is a group of a table (--group), or a table of its own. Rows that are in work",
          "are left alone.",
        ].join("\n"),
      ),
    );
  addList(dead);
  addShow(dead);
  addRetry(dead);
  addPurge(dead);
}
