import { c, inboxTable } from "intray";
import { z } from "zod";

/** One table for all queues of mails. Its CREATE TABLE is `EmailJobs.ddl("postgres")`. */
export const EmailJobs = inboxTable("email_jobs", {
  casing: "snake_case",
  columns: {
    id: c.bigint().id().generated(),
    queue: c.text().group(),
    attempt: c.smallint().attempt().generated(),
    dueAt: c.timestamp().nullable().retryAfter(),
    lockedUntil: c.timestamp().lockedUntil(),
    lastError: c.text().nullable(), // why a mail was given up
    payload: c.json().payload(),
  },
});

/** What a mail is. A row with anything else never reaches the handler. */
const mail = z.object({ to: z.email(), subject: z.string(), text: z.string() });
export type Mail = z.infer<typeof mail>;

export const emails = EmailJobs.queue("emails", { payload: mail });

/** Mails that were given up wait here for somebody to look at them. */
export const failedEmails = EmailJobs.queue("emails-failed", { payload: mail });
