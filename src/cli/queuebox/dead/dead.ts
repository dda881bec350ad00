import type { Command } from "commander";
import { helpEnd } from "../../help.ts";
import { addList } from "./list.ts";
import { addPurge } from "./purge.ts";
import { addRetry } from "./retry.ts";
import { addShow } from "./show.ts";

export function addDead(parent: Command): void {
  const dead = parent
    .command("dead")
    .description("dead messages: list, show, run again, throw away")
    .addHelpText(
      "after",
      helpEnd([
        "intray queuebox dead list --source orders",
        "intray queuebox dead show 0d4f7a52-6f0c-4f6e-9a53-7d1d3d5a9d11",
        "intray queuebox dead retry --source orders",
        "intray queuebox dead purge --older-than 7d --yes",
      ]),
    );
  addList(dead);
  addShow(dead);
  addRetry(dead);
  addPurge(dead);
}
