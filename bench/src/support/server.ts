import { mkdir, readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import pg from "pg";

const RESULTS = new URL("../../results/", import.meta.url);

/** What a benchmark can name and nest; results of a benchmark that was interrupted stay. */
export type Results = { readonly [key: string]: unknown };

export interface BenchDatabase {
  readonly url: string;
  readonly version: string;
  /**
   * Merges results into what is on disk, key by key and however deep, at once: an interruption then
   * loses nothing that was measured.
   */
  save(results: Results): Promise<void>;
}

/**
 * Runs a benchmark in a database of its own on the server of DATABASE_URL (by default the one on this
 * machine), and merges what it answers into `results/latest.json`; with `--quick` into
 * `results/quick.json`, since such figures are nobody's to quote.
 */
export async function withBenchDatabase(
  bench: (database: BenchDatabase) => Promise<Results>,
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
    const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.version };
    const where = { machine, server: { version: short, fsync, synchronous_commit } };
    const save = (results: Results) => {
      const runs = Object.fromEntries(Object.keys(results).map((name) => [name, where]));
      return record({ ...results, runs });
    };
    await save(await bench({ url: url.href, version: short, save }));
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.end();
  }
}

async function record(results: Results): Promise<void> {
  const isQuick = process.argv.includes("--quick");
  const file = new URL(isQuick ? "quick.json" : "latest.json", RESULTS);
  await mkdir(RESULTS, { recursive: true });
  const before = await readFile(file, "utf8").then(JSON.parse, () => ({}));
  await writeFile(file, `${JSON.stringify(merged(before, results), undefined, 2)}\n`);
}

function merged(before: unknown, after: unknown): unknown {
  if (!isRecord(before) || !isRecord(after)) return after;
  const entries = Object.entries(after).map(([key, value]) => [key, merged(before[key], value)]);
  return { ...before, ...Object.fromEntries(entries) };
}

function isRecord(value: unknown): value is Results {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
