import { type GroupStatus, tableStatus, type Writable } from "intray";
import type { Standing } from "../../src/cli/demo/progress.ts";
import { EmailJobs, emails, failedEmails } from "../mailer/tables.ts";

/** As the table has it: a mail that was sent is no row any more. */
export async function readStanding(source: Writable, published: number): Promise<Standing> {
  const groups = await tableStatus(source, EmailJobs);
  const waiting = rowsOf(groups, emails.name);
  const dead = rowsOf(groups, failedEmails.name);
  return { waiting, dead, processed: published - waiting - dead };
}

function rowsOf(groups: readonly GroupStatus[], name: string): number {
  const found = groups.find(({ group }) => group === name);
  if (found === undefined) return 0;
  const { expired, future, inWork, waiting } = found;
  return waiting + (future ?? 0) + (inWork ?? 0) + (expired ?? 0);
}
