import { execFile } from "node:child_process";
import { copyFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ModuleKind, ScriptTarget, transpileModule } from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inboxDdlText } from "../../src/dialect/postgres/inbox-ddl.ts";
import { createDatabase, isMissing, type TestDatabase } from "../support/databases.ts";
import { example } from "../support/markdown.ts";
import { makeProject, type Project, repository, tarball } from "../support/package.ts";
import { until } from "../support/until.ts";
import { Program } from "./program.ts";
import { installRuntimes, isInstalled, type Runtime, runtimes } from "./runtimes.ts";

/** Types, and an enum, which no Node takes away by itself. */
const CONFIG = `import { c, inboxTable } from "intray";
enum Kind { Jobs = "jobs" }
const Jobs = inboxTable(Kind.Jobs as string, { columns: { id: c.bigint().id() } });
export default { databases: { main: { url: process.env.NOWHERE!, tables: [Jobs] } } } satisfies object;
`;

let bare: Project;
let withPg: Project;
/** What the README says to create for its example. */
let tablesSql: string;

beforeAll(async () => {
  const packed = await tarball();
  await installRuntimes();
  bare = await makeProject([packed]);
  const peers = await Promise.all(
    ["pg", "zod"].map(async (name) => `${name}@${await versionOf(name)}`),
  );
  withPg = await makeProject([packed, ...peers]);
  for (const file of ["smoke.mjs", "smoke.cjs"]) {
    await copyFile(join(repository, "test", "runtimes", file), join(bare.folder, file));
  }
  await writeFile(join(bare.folder, "intray.config.ts"), CONFIG);
  const readme = await readFile(join(repository, "README.md"), "utf8");
  for (const name of ["queuebox", "tables"]) {
    const code = example(readme, name);
    await writeFile(join(withPg.folder, `${name}.ts`), code);
    await writeFile(join(withPg.folder, `${name}.mjs`), withoutTypes(code));
  }
  tablesSql = example(readme, "tables", "sql");
}, 300_000);

afterAll(async () => {
  await bare?.remove();
  await withPg?.remove();
});

test("the package brings no other package", async () => {
  const installed = await readdir(join(bare.folder, "node_modules"));
  expect(installed.filter((name) => !name.startsWith("."))).toEqual(["intray"]);
});

describe.each(runtimes.map((each) => [each.name, each] as const))("%s", (_name, runtime) => {
  test("both doors and the drivers import, as ESM and as CommonJS, and export the same", async (context) => {
    if (!isInstalled(runtime)) context.skip(`${runtime.name} is not made for this platform`);
    const esm = await new Program(runtime, "smoke.mjs", bare.folder).end();
    const commonJs = await new Program(runtime, "smoke.cjs", bare.folder).end();
    expect(JSON.parse(esm)).toEqual(JSON.parse(commonJs));
  });

  test("82: the command line takes a configuration in TypeScript", async (context) => {
    if (!isInstalled(runtime)) context.skip(`${runtime.name} is not made for this platform`);
    const args = [...runtime.args, join("node_modules", "intray", "dist", "cli.mjs"), "ddl"];
    const { stdout } = await promisify(execFile)(runtime.command, args, { cwd: bare.folder });
    expect(stdout).toContain('CREATE TABLE IF NOT EXISTS "jobs" (');
  });

  test.skipIf(isMissing("postgres"))(
    "the QueueBox example of the README runs as it is",
    async (context) => {
      if (!isInstalled(runtime)) context.skip(`${runtime.name} is not made for this platform`);
      await runExample(runtime, "queuebox", {
        async prepare(database) {
          await database.query(inboxDdlText());
          await database.query("CREATE TABLE orders (id text PRIMARY KEY, total numeric)");
          await database.query(
            `INSERT INTO inbox (source, idempotency_key, payload, consumption)
             VALUES ($1, $2, $3, 'pull')`,
            ["orders", "key-1", JSON.stringify({ id: "order-1", total: 42 })],
          );
        },
        done: "SELECT 1 FROM inbox WHERE state = 'processed'",
        effect: "SELECT id, total::int FROM orders",
        expected: [{ id: "order-1", total: 42 }],
      });
    },
  );

  test.skipIf(isMissing("postgres"))(
    "the example of a table of one's own runs as it is, on the tables that the README creates",
    async (context) => {
      if (!isInstalled(runtime)) context.skip(`${runtime.name} is not made for this platform`);
      await runExample(runtime, "tables", {
        prepare: async (database) => void (await database.query(tablesSql)),
        done: "SELECT 1 FROM sent",
        effect:
          "SELECT recipient, attempt, (SELECT count(*)::int FROM email_jobs) AS jobs FROM sent",
        expected: [{ recipient: "ada@example.com", attempt: 1, jobs: 0 }],
      });
    },
  );
});

interface Run {
  prepare(database: TestDatabase): Promise<void>;
  /** Answers a row when the program has done its work. */
  readonly done: string;
  readonly effect: string;
  readonly expected: readonly unknown[];
}

async function runExample(runtime: Runtime, name: string, run: Run): Promise<void> {
  const database = await createDatabase();
  await run.prepare(database);
  const file = `${name}.${runtime.typescript ? "ts" : "mjs"}`;
  const program = new Program(runtime, file, withPg.folder, connectionSettings(database.url));
  try {
    await until(
      async () => !program.running || (await database.query(run.done)).rows.length === 1,
      { deadline: 20_000, what: "the message is worked" },
    );
    expect((await database.query(run.effect)).rows).toEqual(run.expected);
    expect(await program.stop(), "it stops when it is asked to").toBe(true);
  } catch (error) {
    throw new Error(`the example failed; it said:\n${program.output}`, { cause: error });
  } finally {
    await program.stop();
    await database.drop();
  }
}

/** `new pg.Pool()` without arguments takes the environment's word. */
function connectionSettings(url: string): Record<string, string> {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    PGHOST: hostname,
    PGPORT: port === "" ? "5432" : port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
    DATABASE_URL: url,
  };
}

function withoutTypes(code: string): string {
  const compilerOptions = {
    target: ScriptTarget.ES2022,
    module: ModuleKind.ESNext,
    verbatimModuleSyntax: true,
  };
  return transpileModule(code, { compilerOptions }).outputText;
}

async function versionOf(dependency: string): Promise<string> {
  const { devDependencies } = JSON.parse(await readFile(join(repository, "package.json"), "utf8"));
  return devDependencies[dependency];
}
