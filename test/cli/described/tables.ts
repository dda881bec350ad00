import { c, inboxTable } from "../../../src/index.ts";

/** Leased, with everything that a status can tell. */
export const EmailJobs = inboxTable("email_jobs", {
  schema: "app",
  columns: {
    jobId: c.bigint("job_id").id().generated(),
    name: c.text().group(),
    attempt: c.smallint().attempt().generated(),
    due: c.timestamp().nullable().retryAfter(),
    lockedUntil: c.timestamp("locked_until").nullable().lockedUntil(),
    done: c.timestamp().nullable().processedAt(),
    lastError: c.text("last_error").nullable(),
    payload: c.bytes().payload(),
  },
});

/** A dead-letter table of its own. */
export const FailedJobs = inboxTable("failed_jobs", {
  schema: "app",
  columns: {
    id: c.bigint().id(),
    was: c.text().nullable(),
    reason: c.text().nullable(),
    payload: c.bytes().payload(),
  },
});

/** In order, each group at a time, under row locks. */
export const Steps = inboxTable("steps", {
  columns: {
    id: c.bigint().id().generated(),
    run: c.text().group({ fifo: true }),
    body: c.json().payload(),
  },
});
