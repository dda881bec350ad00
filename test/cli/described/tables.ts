import { c, inboxTable } from "../../../src/index.ts";

/**
 * Where the tables are: a schema of PostgreSQL, the database itself on MySQL, and SQLite's one schema. The
 * command line knows the database by its URL alone.
 */
export function schemaOf(url = ""): string {
  if (url.startsWith("sqlite:")) return "main";
  return /^(mysql|mariadb):/.test(url) ? new URL(url).pathname.slice(1) : "app";
}

/** SQLite has no row locks: rows are leased there. */
const held = c.timestamp().nullable().lockedUntil();

/** The described tables of the database at the URL. */
export function tablesAt(url: string | undefined) {
  const schema = schemaOf(url);
  return {
    /** Leased, with everything that a status can tell. */
    EmailJobs: inboxTable("email_jobs", {
      schema,
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
    }),
    FailedJobs: failedAt(schema),
    Steps: stepsAt(schema),
  };
}

/** A dead-letter table of its own. */
function failedAt(schema: string) {
  const columns = {
    id: c.bigint().id(),
    was: c.text().nullable(),
    reason: c.text().nullable(),
    payload: c.bytes().payload(),
  };
  return schema === "main"
    ? inboxTable("failed_jobs", { schema, columns: { ...columns, held } })
    : inboxTable("failed_jobs", { schema, columns });
}

/** In order, each group at a time. */
function stepsAt(schema: string) {
  const columns = {
    id: c.bigint().id().generated(),
    run: c.text().group({ fifo: true }),
    body: c.json().payload(),
  };
  return schema === "main"
    ? inboxTable("steps", { columns: { ...columns, held } })
    : inboxTable("steps", { columns });
}

export const { EmailJobs, FailedJobs, Steps } = tablesAt(process.env["DATABASE_URL"]);
