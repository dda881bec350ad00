import { execFile, execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { fromPg, InboxWorker } from "../../src/queuebox/index.ts";
import { describeOn, type TestDatabase } from "../support/databases.ts";
import { start } from "../support/inbox.ts";
import { until } from "../support/until.ts";
import { inboxDatabase } from "./inbox-database.ts";
import { folderWith, queuebox } from "./run-cli.ts";

const STATEMENTS = ["claim", "renew", "complete", "retry", "dead"] as const;
type Files = Readonly<Record<(typeof STATEMENTS)[number], string>>;

/** Runs a file with values for its names. */
type Run = (
  file: string,
  values: Readonly<Record<string, string | number>>,
) => Promise<readonly Record<string, unknown>[]>;

const psqlMissing = ((): boolean => {
  try {
    execFileSync("psql", ["--version"]);
    return false;
  } catch {
    process.stderr.write("\n*** SKIPPED: the worker over psql, which is missing\n");
    return true;
  }
})();

/** A psql is a process a statement, and the machine may be busy. */
const LONG = { timeout: 90_000 };

describeOn("postgres", "a worker on the files of intray queuebox sql", () => {
  test("over a driver, beside an InboxWorker on one table: each message once", LONG, async () => {
    const database = await filledInbox(60);
    const files = await writtenFiles();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    onTestFinished(() => client.end());
    const run: Run = async (file, values) => {
      const names: string[] = [];
      const text = file.replace(/(?<!:):([a-z_]+)/g, (_, name: string) => {
        if (!names.includes(name)) names.push(name);
        return `$${names.indexOf(name) + 1}`;
      });
      return (
        await client.query(
          text,
          names.map((name) => values[name]),
        )
      ).rows;
    };
    await workBoth(database, 60, async () => {
      const [row] = await run(files.claim, {
        source: "orders",
        batch: 1,
        lease_ms: 30_000,
        cand_limit: 50,
      });
      if (row === undefined) return false;
      const held = { id: String(row.id), token: String(row.claim_token) };
      await run(files.renew, { ...held, lease_ms: 30_000 });
      const failures = Number(row.attempt);
      if (row.idempotency_key === "key-7" && failures < 1) {
        await run(files.retry, { ...held, delay_ms: 1, error: "it's not :done" });
        return true;
      }
      if (row.idempotency_key === "key-8") {
        await run(files.dead, { ...held, error: "given up" });
        return true;
      }
      await client.query("BEGIN");
      await client.query("INSERT INTO effects (key, who) VALUES ($1, 'files')", [
        row.idempotency_key,
      ]);
      await run(files.complete, held);
      await client.query("COMMIT");
      return true;
    });
  });

  test.skipIf(psqlMissing)(
    "over psql, beside an InboxWorker on one table: each message once",
    LONG,
    async () => {
      const database = await filledInbox(12);
      const folder = await writtenFolder();
      const psql = async (script: string): Promise<string> => {
        const flags = ["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database.url, "-f", "-"];
        const running = promisify(execFile)("psql", flags);
        running.child.stdin?.end(script);
        return (await running).stdout.trim();
      };
      await workBoth(database, 12, async () => {
        const claimed = await psql(
          `\\set source '''orders'''\n\\set batch 1\n\\set lease_ms 30000\n\\set cand_limit 50\n\\i ${folder}/claim.sql\n`,
        );
        if (claimed === "") return false;
        const fields = claimed.split("|");
        const [id, , key] = fields;
        const held = `\\set id '''${id}'''\n\\set token '''${fields.at(-1)}'''\n`;
        await psql(`${held}\\set lease_ms 30000\n\\i ${folder}/renew.sql\n`);
        const attempt = Number(fields.at(-2));
        if (key === "key-7" && attempt < 1) {
          const more = `\\set delay_ms 1\n\\set error '''it went wrong'''\n`;
          await psql(`${held}${more}\\i ${folder}/retry.sql\n`);
        } else if (key === "key-8") {
          await psql(`${held}\\set error '''given up'''\n\\i ${folder}/dead.sql\n`);
        } else {
          const effect = `INSERT INTO effects (key, who) VALUES ('${key}', 'files');`;
          await psql(`${held}BEGIN;\n${effect}\n\\i ${folder}/complete.sql\nCOMMIT;\n`);
        }
        return true;
      });
    },
  );
});

async function filledInbox(messages: number): Promise<TestDatabase> {
  const database = await inboxDatabase();
  await database.query(`
    CREATE TABLE effects (key text NOT NULL, who text NOT NULL);
    INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, created_at)
    SELECT 'orders', 'key-' || n, 'a-' || n % 10, '{}', 'pull', now() + n * interval '1 microsecond'
    FROM generate_series(1, ${messages}) AS n`);
  return database;
}

async function writtenFolder(): Promise<string> {
  const folder = await folderWith();
  expect(await queuebox(["sql", "--out", folder])).toMatchObject({ code: 0 });
  return folder;
}

async function writtenFiles(): Promise<Files> {
  const folder = await writtenFolder();
  const read = (name: string) => readFile(join(folder, `${name}.sql`), "utf8");
  const [claim, renew, complete, retry, dead] = await Promise.all(STATEMENTS.map(read));
  return {
    claim: claim ?? "",
    renew: renew ?? "",
    complete: complete ?? "",
    retry: retry ?? "",
    dead: dead ?? "",
  };
}

/**
 * Runs both workers until nothing is left. The InboxWorker fails key-7 and key-8 as the other does,
 * so whoever gets them, the end is the same; it is slow enough that the other gets its share.
 */
async function workBoth(
  database: TestDatabase,
  messages: number,
  workOne: () => Promise<boolean>,
): Promise<void> {
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  onTestFinished(() => pool.end());
  let filesWorked = 0;
  let isIdle = false;
  const worker = new InboxWorker(fromPg(pool), {
    source: "orders",
    pollIntervalMs: 20,
    batchSize: 2,
    retryPolicy: (message) =>
      message.idempotencyKey === "key-8" ? { retry: false } : { retry: true, delayMs: 1 },
  });
  const running = start((signal) =>
    worker.run(async (message, tx) => {
      const before = filesWorked;
      // The two take turns: the other has worked a message since, or there is none left for it.
      await until(() => filesWorked > before || isIdle, { deadline: 60_000 });
      await tx.query("INSERT INTO effects (key, who) VALUES ($1, 'InboxWorker')", [
        message.idempotencyKey,
      ]);
      if (message.idempotencyKey === "key-8") throw new Error("given up");
      if (message.idempotencyKey === "key-7" && message.attempt < 1) throw new Error("once more");
    }, signal),
  );
  await until(
    async () => {
      isIdle = !(await workOne());
      if (!isIdle) filesWorked += 1;
      const { rows } = await database.query(
        "SELECT 1 FROM inbox WHERE state IN ('pending', 'processing')",
      );
      return rows.length === 0;
    },
    { deadline: 60_000 },
  );
  await running.stop();

  const { rows } = await database.query<{ key: string; who: string }>(
    "SELECT key, who FROM effects",
  );
  const keys = rows.map(({ key }) => key);
  expect(keys.length).toBe(messages - 1);
  expect(new Set(keys).size).toBe(messages - 1);
  expect(keys).not.toContain("key-8");
  expect(new Set(rows.map(({ who }) => who))).toEqual(new Set(["files", "InboxWorker"]));
  const special = await database.query(
    "SELECT idempotency_key AS key, state, attempt, last_error IS NOT NULL AS told FROM inbox WHERE idempotency_key IN ('key-7', 'key-8') ORDER BY 1",
  );
  expect(special.rows).toEqual([
    { key: "key-7", state: "processed", attempt: 1, told: true },
    { key: "key-8", state: "dead", attempt: 0, told: true },
  ]);
}
