import { expect, test } from "vitest";
import type { TestDatabase } from "../support/databases.ts";
import { deadWords } from "../support/dead-words.ts";
import { forEachInboxDatabase, type InboxKind } from "./inbox-database.ts";
import { jsonError, queuebox } from "./run-cli.ts";

const NOBODY = "00000000-0000-4000-8000-000000000000";

async function fiveDead(kind: InboxKind): Promise<TestDatabase & { ids: Record<string, string> }> {
  const database = await kind.inbox();
  const ids: Record<string, string> = {};
  for (const [index, key] of ["a", "b", "c", "d"].entries()) {
    ids[key] = await kind.addRow(database, { key, days: index * 5 });
  }
  ids["e"] = await kind.addRow(database, { key: "e", source: "mails", days: 30 });
  await kind.addRow(database, { key: "alive", state: "pending" });
  return { ...database, ids };
}

forEachInboxDatabase("intray queuebox dead list and show", (kind) => {
  test("list the newest first, page by page", async () => {
    const { ids, url } = await fiveDead(kind);
    const args = ["dead", "list", "--source", "orders", "--limit", "3", "--json"];
    const first = JSON.parse((await queuebox(args, { url })).stdout);
    expect(first.dead.map((row: { idempotencyKey: string }) => row.idempotencyKey)).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(first.dead[0]).toEqual({
      id: ids["a"],
      source: "orders",
      idempotencyKey: "a",
      aggregateId: null,
      eventType: null,
      attempt: 5,
      createdAt: expect.stringMatching(/Z$/),
      claimedAt: expect.stringMatching(/Z$/),
      lastError: "Error: no stock",
    });
    expect(first.next).toBe(ids["c"]);
    const second = JSON.parse((await queuebox([...args, "--after", first.next], { url })).stdout);
    expect(second).toMatchObject({ dead: [{ idempotencyKey: "d" }], next: null });
    const table = await queuebox(["dead", "list"], { url });
    expect(table.stdout).toMatch(/e .*no stock/);
    expect(table.stdout).not.toContain("alive");
  });

  test("show a message with every digit of its payload, and mask what others stored", async () => {
    const database = await kind.inbox();
    const id = await kind.addRow(database, {
      key: "a",
      payload: '{"n": 9007199254740993, "x": 0.10}',
      lastError: "connect to postgres://app:hunter2@db/x\u001b[31m failed",
    });
    const { code, stdout } = await queuebox(["dead", "show", id, "--json"], { url: database.url });
    expect(code).toBe(0);
    expect(stdout).toContain('"payload":{"n": 9007199254740993, "x": 0.10}');
    expect(JSON.parse(stdout)).toMatchObject({ id, headers: { a: "1" }, correlationId: null });
    const text = await queuebox(["dead", "show", "--id", id], { url: database.url });
    expect(text.stdout).toMatch(/^payload +\{"n": 9007199254740993/m);
    for (const out of [stdout, text.stdout]) expect(out).not.toContain("hunter2");
    expect(text.stdout).not.toContain("\u001b");
  });

  test("say that there is none", async () => {
    const { url } = await kind.inbox();
    expect(await queuebox(["dead", "list"], { url })).toMatchObject({
      code: 0,
      stdout: "no dead message\n",
    });
    expect(jsonError(await queuebox(["dead", "show", NOBODY, "--json"], { url }))).toEqual({
      code: 1,
      error: { code: "NOT_FOUND", message: `inbox has no dead message ${NOBODY}` },
    });
    expect(await queuebox(["dead", "show"], { url })).toMatchObject({ code: 2 });
    expect(await queuebox(["dead", "show", NOBODY, "--id", NOBODY], { url })).toMatchObject({
      code: 2,
    });
  });
});

forEachInboxDatabase("intray queuebox dead retry", (kind) => {
  test("makes messages pending, due now, attempt 0, and says so", async () => {
    const { ids, query, url } = await fiveDead(kind);
    const args = ["dead", "retry", "--id", ids["a"] ?? "", "--id", ids["c"] ?? ""];
    expect(await queuebox(args, { url })).toMatchObject({
      code: 0,
      stdout: "2 messages are pending again: attempt 0, due now\n",
    });
    const { rows } = await query(
      `SELECT idempotency_key AS name, attempt, claim_token,
        CASE WHEN scheduled_at > ${kind.words.later(-60_000)} THEN 1 ELSE 0 END AS fresh
      FROM inbox WHERE state = 'pending' AND attempt = 0 ORDER BY idempotency_key`,
    );
    expect(rows).toEqual(
      ["a", "c"].map((name) => ({ name, attempt: 0, fresh: 1, claim_token: null })),
    );
  });

  test("takes a source, the newest of it, or all", async () => {
    const database = await fiveDead(kind);
    const { url } = database;
    const newest = await queuebox(
      ["dead", "retry", "--source", "orders", "--limit", "2", "--json"],
      { url },
    );
    expect(JSON.parse(newest.stdout)).toMatchObject({ retried: 2, missing: [], attempt: 0 });
    expect(await kind.keys(database, "pending")).toEqual(["a", "alive", "b"]);
    await queuebox(["dead", "retry", "--source", "orders"], { url });
    expect(await kind.keys(database, "dead")).toEqual(["e"]);
    await queuebox(["dead", "retry", "--all"], { url });
    expect(await kind.keys(database, "dead")).toEqual([]);
  });

  test("retries more than a statement takes", async () => {
    const database = await kind.inbox();
    await database.query(deadWords(kind.name).many(2500));
    const { stdout } = await queuebox(["dead", "retry", "--all"], { url: database.url });
    expect(stdout).toMatch(/^2500 messages/);
    expect(await kind.keys(database, "dead")).toEqual([]);
  });

  test("fails for what is not there, and wants to know what is meant", async () => {
    const database = await fiveDead(kind);
    const { ids, url } = database;
    const args = ["dead", "retry", "--id", ids["a"] ?? "", "--id", NOBODY, "--json"];
    const failed = await queuebox(args, { url });
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ ids: [ids["a"]], missing: [NOBODY] });
    for (const wrong of [[], ["--id", NOBODY, "--all"], ["--id", NOBODY, "--source", "x"]]) {
      expect(await queuebox(["dead", "retry", ...wrong], { url })).toMatchObject({ code: 2 });
    }
    expect(await kind.keys(database, "pending")).toEqual(["a", "alive"]);
  });
});

forEachInboxDatabase("intray queuebox dead purge", (kind) => {
  test("deletes nothing without --yes where it cannot ask", async () => {
    const database = await fiveDead(kind);
    const result = await queuebox(["dead", "purge", "--all"], { url: database.url });
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect(await kind.keys(database, "dead")).toHaveLength(5);
  });

  test("deletes by age, id, source, or all", async () => {
    const database = await fiveDead(kind);
    const { ids, url } = database;
    const purge = (...args: string[]) =>
      queuebox(["dead", "purge", ...args, "--yes", "--json"], { url });
    expect(JSON.parse((await purge("--older-than", "7d", "--source", "orders")).stdout)).toEqual({
      purged: 2,
      ids: expect.arrayContaining([ids["c"], ids["d"]]),
      missing: [],
    });
    expect(await kind.keys(database, "dead")).toEqual(["a", "b", "e"]);
    expect(await purge("--id", ids["b"] ?? "")).toMatchObject({ code: 0 });
    expect(await kind.keys(database, "dead")).toEqual(["a", "e"]);
    await purge("--older-than", "20d");
    expect(await kind.keys(database, "dead")).toEqual(["a"]);
    const { stdout } = await queuebox(["dead", "purge", "--all", "-y"], { url });
    expect(stdout).toBe("1 dead message deleted\n");
    expect(await kind.keys(database, "pending")).toEqual(["alive"]);
  });

  test("fails for what is not there, and wants to know what is meant", async () => {
    const database = await fiveDead(kind);
    const { url } = database;
    expect(await queuebox(["dead", "purge", "--id", NOBODY, "-y"], { url })).toMatchObject({
      code: 1,
    });
    for (const wrong of [[], ["--id", NOBODY, "--all"], ["--id", NOBODY, "--older-than", "7d"]]) {
      expect(await queuebox(["dead", "purge", "-y", ...wrong], { url })).toMatchObject({ code: 2 });
    }
    expect(await kind.keys(database, "dead")).toHaveLength(5);
  });
});
