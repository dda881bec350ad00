import { PGlite } from "@electric-sql/pglite";
import type { ConnectionSource } from "intray";
import { fromPg } from "intray/pg";
import { fromPglite } from "intray/pglite";
import pg from "pg";

/** The database that an example runs on. */
export interface Database {
  readonly source: ConnectionSource<"postgres">;
  /** Runs statements, outside of all handlers; answers the rows of a single one. */
  query<Row = Record<string, unknown>>(text: string): Promise<Row[]>;
  close(): Promise<void>;
}

/**
 * The PostgreSQL at DATABASE_URL, in a schema of the example's own. Without one PGlite: a PostgreSQL in this process and in
 * its memory, which is gone at the end, and has one connection.
 */
export async function openDatabase(example: string): Promise<Database> {
  const url = process.env.DATABASE_URL;
  return url === undefined ? await openPglite() : await openPostgres(url, `example_${example}`);
}

async function openPglite(): Promise<Database> {
  const db = await PGlite.create();
  return {
    source: fromPglite(db),
    query: async <Row>(text: string) => ((await db.exec(text)).at(-1)?.rows ?? []) as Row[],
    close: () => db.close(),
  };
}

async function openPostgres(url: string, schema: string): Promise<Database> {
  const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` });
  await pool.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  return {
    source: fromPg(pool),
    query: async (text) => (await pool.query(text)).rows,
    close: () => pool.end(),
  };
}
