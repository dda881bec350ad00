import { deadLetters, type Writable } from "intray";
import { printRows } from "../../src/cli/demo/print-tables.ts";
import { shortened } from "../../src/cli/output.ts";
import { failedEmails, type Mail } from "../mailer/tables.ts";

/** What was given up, read back from the table: the lowest id first. */
export async function printDeadLetters(source: Writable): Promise<void> {
  const dead = await deadLetters(source, failedEmails).list();
  if (dead.length === 0) return;
  printRows(
    "\nDead letters, in the queue emails-failed",
    [
      { title: "id", text: ({ id }) => id, align: "right" },
      { title: "reason", text: ({ reason }) => shortened(reason ?? "-", 50) },
      { title: "payload", text: ({ payload }) => shortened(payload ?? "-", 50) },
    ],
    dead.toReversed(),
  );
}

/** What left the house, by where it went. */
export function printDelivered(delivered: Iterable<Mail>): void {
  const mails = new Map<string, number>();
  for (const { to } of delivered) {
    const server = to.slice(to.indexOf("@") + 1);
    mails.set(server, (mails.get(server) ?? 0) + 1);
  }
  printRows(
    "\nMails, as the relay has them",
    [
      { title: "server", text: ([server]) => server },
      { title: "mails", text: ([, count]) => String(count), align: "right" },
    ],
    [...mails],
  );
}
