import { mkdir, readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import pg from "pg";

const RESULTS = new URL("../../results/", import.meta.url);

export interface BenchDatabase {
  readonly url: string;
  readonly version: string;
}

/**
 * Runs a benchmark in a database of its own on the server of DATABASE_URL (by default the one on this
 * machine), and merges what it answers into `results/latest.json`.
 */
export async function withBenchDatabase(
  bench: (database: BenchDatabase) => Promise<Record<string, unknown>>,
): Promise<void> {
  const server = process.env.DATABASE_URL ?? "postgres://root@127.0.0.1:5432/postgres";
  const name = `intray_bench_${process.pid}`;
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  try {
    await admin.query(`CREATE DATABASE ${name}`);
    const url = new URL(server);
    url.pathname = `/${name}`;
    const { rows } = await admin.query(
      "SELECT version(), current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit",
    );
    const { fsync, synchronous_commit, version } = rows[0];
    const short = String(version).split(" ").slice(0, 2).join(" ");
    const result = await bench({ url: url.href, version: short });
    const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.version };
    await record({ ...result, machine, server: { version: short, fsync, synchronous_commit } });
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.end();
  }
}

async function record(result: Record<string, unknown>): Promise<void> {
  const file = new URL("latest.json", RESULTS);
  await mkdir(RESULTS, { recursive: true });
  const before = await readFile(file, "utf8").then(JSON.parse, () => ({}));
  await writeFile(file, `${JSON.stringify({ ...before, ...result }, undefined, 2)}\n`);
}
