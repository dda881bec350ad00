/** `intray queuebox` on SQL Server, as far as a server that runs no SQL can tell. */
import { describe, expect, test } from "vitest";
import { defaultSchema } from "../../src/dialect/inbox-schema.ts";
import { sqlserverInboxAdministration as admin } from "../../src/dialect/sqlserver/inbox-administration.ts";
import { jsonError } from "../cli/run-cli.ts";
import { project } from "./cli-project.ts";
import type { Reply, Said } from "./tds-server.ts";
import type { ColumnType, Part } from "./tds-write.ts";

const ID = "0d4f7a52-6f0c-4f6e-9a53-7d1d3d5a9d11";

/** A table that fits, and what the statements of the administration are answered. */
function inbox(answers: Partial<Record<Exclude<keyof typeof admin, "ids">, Reply>> = {}) {
  return project((said: Said) => {
    for (const [name, reply] of Object.entries(answers)) {
      if (!isName(name)) continue;
      if (admin[name](defaultSchema).text === said.text) return reply;
    }
    if (!said.text.includes("AS [table_present]")) return undefined;
    return [table({ name: "nvarchar", present: "int", table_present: "int" }, ["id", 1, 1])];
  });
}

function isName(name: string): name is Exclude<keyof typeof admin, "ids"> {
  return name !== "ids" && Object.hasOwn(admin, name);
}

function table(columns: Readonly<Record<string, ColumnType>>, ...rows: readonly unknown[][]): Part {
  return { columns, rows };
}

const ids = (...rows: readonly string[]): Reply => [
  table({ id: "nvarchar" }, ...rows.map((id) => [id])),
];

const TEXTS = (...names: readonly string[]): Record<string, ColumnType> =>
  Object.fromEntries(names.map((name) => [name, "nvarchar"]));

const DEAD = [
  "id",
  "source",
  "idempotency_key",
  "aggregate_id",
  "event_type",
  "created_at",
  "claimed_at",
  "last_error",
];

describe("intray queuebox on SQL Server", () => {
  test("status counts source by source", async () => {
    const columns = TEXTS(
      "source",
      "backlog",
      "scheduled",
      "in_work",
      "expired",
      "dead",
      "oldest_due",
      "oldest_due_ms",
    );
    const { run, server, url } = await inbox({
      status: [
        table(columns, [
          "orders",
          "9007199254740993",
          "1",
          "0",
          "0",
          "2",
          "2026-01-01T00:00:00.1234567Z",
          "61000",
        ]),
      ],
    });
    const { code, stderr, stdout } = await run(url, "queuebox", "status", "--json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain('"backlog":9007199254740993');
    expect(JSON.parse(stdout)).toMatchObject({
      table: "inbox",
      sources: [
        {
          source: "orders",
          scheduled: 1,
          dead: 2,
          oldestDue: "2026-01-01T00:00:00.1234567Z",
          oldestDueMs: 61_000,
        },
      ],
    });
    expect(server.said.at(-1)).toMatchObject({ params: [{ value: null }] });
  });

  test("dead list and show print what is stored, and no secrets", async () => {
    const secret = "connect to postgres://app:hunter2@db/x failed";
    const row = [ID, "orders", "a", null, "made", "2026-01-01T00:00:00Z", null, secret, 5];
    const columns = { ...TEXTS(...DEAD), attempt: "int" } as const;
    const payload = '{"n": 9007199254740993, "x": 0.10}';
    const { run, url } = await inbox({
      list: [table(columns, row)],
      show: [
        table({ ...columns, ...TEXTS("correlation_id", "payload", "headers") }, [
          ...row,
          null,
          payload,
          "{}",
        ]),
      ],
    });
    const list = await run(url, "queuebox", "dead", "list", "--json");
    expect(JSON.parse(list.stdout)).toMatchObject({
      dead: [{ id: ID, attempt: 5, claimedAt: null }],
      next: null,
    });
    const show = await run(url, "queuebox", "dead", "show", ID, "--json");
    expect(show).toMatchObject({ code: 0, stderr: "" });
    expect(show.stdout).toContain(`"payload":${payload}`);
    for (const { stdout } of [list, show]) expect(stdout).not.toContain("hunter2");
  });

  test("dead retry and purge send ids as a list, and tell those that are not there", async () => {
    const other = "00000000-0000-4000-8000-000000000000";
    const { run, server, url } = await inbox({
      retry: ids(ID),
      purge: ids(ID),
      purgeOld: ids(ID, other),
    });
    const retried = await run(
      url,
      "queuebox",
      "dead",
      "retry",
      "--id",
      ID,
      "--id",
      other,
      "--json",
    );
    expect(retried.code).toBe(1);
    expect(JSON.parse(retried.stdout)).toMatchObject({ retried: 1, ids: [ID], missing: [other] });
    expect(server.said.at(-1)).toMatchObject({
      params: [{ value: JSON.stringify([[ID], [other]]) }],
    });
    const purged = await run(url, "queuebox", "dead", "purge", "--id", ID, "--yes", "--json");
    expect(JSON.parse(purged.stdout)).toMatchObject({ purged: 1, missing: [] });
    const old = await run(url, "queuebox", "dead", "purge", "--older-than", "7d", "--yes");
    expect(old).toMatchObject({ code: 0, stdout: "2 dead messages deleted\n" });
    expect(server.said.at(-1)).toMatchObject({ params: [{ value: null }, { value: 604_800_000 }] });
  });

  test("says that the table is missing", async () => {
    const { run, url } = await project(({ text }) =>
      text.includes("AS [table_present]")
        ? [table({ name: "nvarchar", present: "int", table_present: "int" }, ["id", 0, 0])]
        : undefined,
    );
    expect(jsonError(await run(url, "queuebox", "status", "--json"))).toEqual({
      code: 1,
      error: {
        code: "NO_TABLE",
        message: expect.stringMatching(/has no table inbox\. "intray queuebox ddl"/),
      },
    });
  });

  test("the demo runs on PostgreSQL alone", async () => {
    const { run, url } = await inbox();
    expect(await run(url, "queuebox", "demo")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("begins with postgres:// or postgresql://"),
    });
  });
});
