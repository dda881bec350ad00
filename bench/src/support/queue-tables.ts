import type pg from "pg";
import { c, inboxTable } from "../../../dist/index.mjs";

/** A queue table for each form: the same columns, and what the form holds a row by. */
const columns = {
  id: c.bigint().id().generated(),
  queue: c.text().group(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  payload: c.json<{ n: number }>().payload(),
};

export const tables = {
  "row lock": inboxTable("jobs", { columns }),
  lease: inboxTable("jobs", {
    columns: { ...columns, lockedUntil: c.timestamp("locked_until").lockedUntil().nullable() },
  }),
  "advisory lock": inboxTable("jobs", { columns, advisoryLock: "job-{id}" }),
};

export type Form = keyof typeof tables;

export const QUEUE = "emails";

/** The table of the form, as its own DDL makes it, with `rows` due rows. */
export async function fillTable(pool: pg.Pool, form: Form, rows: number): Promise<void> {
  await pool.query("DROP TABLE IF EXISTS jobs");
  for (const statement of tables[form].ddl("postgres")) await pool.query(statement);
  await pool.query(
    `INSERT INTO jobs (queue, payload)
     SELECT $1, jsonb_build_object('n', n) FROM generate_series(1, $2::int) AS n`,
    [QUEUE, rows],
  );
  await pool.query("VACUUM ANALYZE jobs");
  // What the filling left to be written is not to be written while somebody is measured.
  await pool.query("CHECKPOINT");
}

export const LEFT = "SELECT EXISTS (SELECT FROM jobs) AS left";
