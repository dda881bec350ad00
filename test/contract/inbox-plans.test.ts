/**
 * What the claims read, counted in pages (buffers), of the statements as they are sent: prepared, under
 * custom and generic plans, with statistics and without any.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defaultSchema } from "../../src/dialect/inbox-schema.ts";
import { claimStatement } from "../../src/dialect/postgres/inbox-claim.ts";
import {
  claimPastByAggregateStatement,
  claimPastInOrderStatement,
} from "../../src/dialect/postgres/inbox-claim-past.ts";
import { postgresInboxStatements } from "../../src/dialect/postgres/inbox-contract.ts";
import { inboxDdl } from "../../src/dialect/postgres/inbox-ddl.ts";
import { renewAllStatement } from "../../src/dialect/postgres/inbox-lease.ts";
import { lookAgainStatement } from "../../src/dialect/postgres/inbox-look-again.ts";
import { createDatabase, describeOn, type TestDatabase } from "../support/databases.ts";
import { type Explained, explain, type PlanMode, planModes } from "../support/explain.ts";
import { addRows, type InboxRows } from "../support/inbox-rows.ts";

const settings = { batchSize: 10 };
const statements = {
  claim: claimStatement(defaultSchema, settings),
  public: postgresInboxStatements(defaultSchema).claim,
  inOrder: claimPastInOrderStatement(defaultSchema, settings),
  byAggregate: claimPastByAggregateStatement(defaultSchema, settings),
  lookAgain: lookAgainStatement(defaultSchema),
  renewAll: renewAllStatement(defaultSchema),
};
type Name = keyof typeof statements;

describeOn("postgres", "what a claim reads", () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  /** A new table with these rows, which nobody analyzes behind the test's back. */
  async function table(extraIndexes: boolean, ...parts: readonly InboxRows[]): Promise<void> {
    await client.query("DROP TABLE IF EXISTS inbox");
    for (const statement of inboxDdl({ extraIndexes })) await client.query(statement);
    // Unlogged: loading is most of what this file takes.
    await client.query("ALTER TABLE inbox SET UNLOGGED, SET (autovacuum_enabled = false)");
    for (const rows of parts) await addRows(client, rows);
  }

  async function read(
    name: Name,
    mode: PlanMode,
    more: Record<string, string> = {},
  ): Promise<Explained> {
    const given: Record<string, string | number> = {
      source: "orders",
      batch: 10,
      leaseMs: 30_000,
      candLimit: 50,
      token: randomUUID(),
      cursor: "",
      ...more,
    };
    const explained = await explain(
      client,
      statements[name],
      statements[name].params.map((param) => given[param] ?? null),
      mode,
    );
    // Compiling takes longer than the whole claim.
    expect(explained.compiled).toBe(false);
    return explained;
  }

  /** Runs the test for each kind of plan, first without statistics and then with them. */
  async function eachWay(names: readonly Name[], check: (found: Explained, way: string) => void) {
    for (const statistics of ["never analyzed", "analyzed"]) {
      if (statistics === "analyzed") await client.query("VACUUM ANALYZE inbox");
      for (const mode of planModes) {
        for (const name of names) check(await read(name, mode), `${name}, ${mode}, ${statistics}`);
      }
    }
  }

  describe.each([
    ["V10's indexes", false, ["claim", "public", "inOrder"]],
    ["the extra index too", true, ["claim", "public", "byAggregate"]],
  ] as const)("with %s", (_indexes, extra, names) => {
    test("an empty claim before 200,000 rows that are due later reads under 50 pages", async () => {
      await table(extra, { count: 200_000, aggregate: "'a' || n % 1000", startSeconds: 3600 });
      // The walk by aggregate visits a bounded number of aggregates; no worker runs it on an empty claim.
      await eachWay(["claim", "public", ...(extra ? [] : (["inOrder"] as const))], (found, way) => {
        expect(found.buffers, way).toBeLessThan(50);
      });
    });

    test("a claim of ten costs the same before 1,000 rows and before 100,000", async () => {
      const costs = new Map<string, number>();
      for (const count of [1_000, 10_000, 100_000]) {
        await table(extra, { count, aggregate: `'a' || n % ${count / 5}` });
        await eachWay(names, (found, way) => {
          expect(found.rows, `${way}, ${count}`).toBe(10);
          expect(found.buffers, `${way}, ${count}`).toBeLessThan(500);
          if (count > 1_000) expect(found.scanned, `${way}, ${count}`).toEqual([]);
          // Three index levels against two, in each of the indexes that ten rows are written to.
          const first = costs.get(way) ?? found.buffers;
          costs.set(way, first);
          expect(found.buffers, `${way}, ${count}`).toBeLessThan(1.5 * first);
        });
      }
    });

    test("100,000 processed rows cost nothing", async () => {
      const waiting = { count: 1_000, aggregate: "'a' || n % 200" };
      await table(extra, waiting);
      const costs = new Map<string, number>();
      await eachWay(names, (found, way) => {
        costs.set(way, found.buffers);
      });
      const done = {
        count: 100_000,
        aggregate: "'a' || n % 200",
        state: "processed",
        startSeconds: -86_400,
      } as const;
      await table(extra, done, waiting);
      await eachWay(names, (found, way) => {
        expect(found.rows, way).toBe(10);
        expect(found.scanned, way).toEqual([]);
        expect(found.buffers, way).toBeLessThan(1.5 * (costs.get(way) ?? 0));
      });
    });

    test.each([
      ["in work", true],
      ["free", false],
    ])(
      "a hot aggregate that is %s, with 10,000 rows at the head, starves nobody",
      async (_what, isBusy) => {
        const past = extra ? "byAggregate" : "inOrder";
        const costs = new Map<string, number>();
        for (const hot of [1_000, 10_000]) {
          await table(
            extra,
            ...(isBusy
              ? [
                  {
                    count: 1,
                    aggregate: "'hot'",
                    state: "processing",
                    leaseSeconds: 3600,
                    startSeconds: -7200,
                  } as const,
                ]
              : []),
            { count: hot, aggregate: "'hot'" },
            { count: 100, aggregate: "'b' || n", startSeconds: -60 },
            { count: 20, startSeconds: -30 },
          );
          await eachWay([past], (found, way) => {
            expect(found.rows, `${way}, ${hot}`).toBe(10);
            const first = costs.get(way) ?? found.buffers;
            costs.set(way, first);
            // In order, the hot rows are read once; by aggregate they are not read.
            const bound = extra ? 1.3 * first : first + hot / 10;
            expect(found.buffers, `${way}, ${hot}`).toBeLessThan(bound);
          });
          for (const mode of planModes) {
            const { buffers, rows } = await read("claim", mode);
            expect([rows, buffers < 50], mode).toEqual([1, true]);
          }
        }
      },
    );
  });

  test("an expired row before a long aggregate does not have the aggregate read", async () => {
    await table(
      true,
      { count: 1, aggregate: "'hot'", state: "processing", leaseSeconds: -1, startSeconds: -7200 },
      { count: 20_000, aggregate: "'hot'" },
    );
    await eachWay(["byAggregate"], (found, way) => {
      expect(found.rows, way).toBe(1);
      expect(found.buffers, way).toBeLessThan(100);
    });
  });

  test("what a worker runs beside the claim reads a few pages a row", async () => {
    await table(
      false,
      { count: 100_000, aggregate: "'a' || n % 200", state: "processed", startSeconds: -86_400 },
      { count: 10, aggregate: "'b' || n", state: "processing", leaseSeconds: 3600 },
      { count: 10_000, aggregate: "'b' || n % 10" },
    );
    await client.query(
      `UPDATE inbox SET claim_token = '${randomUUID()}' WHERE state = 'processing'`,
    );
    const { rows } = await client.query<{ id: string; token: string }>(
      "SELECT id, claim_token AS token FROM inbox WHERE state = 'processing'",
    );
    const ids = `{${rows.map(({ id }) => id).join()}}`;
    const tokens = `{${rows.map(({ token }) => token).join()}}`;
    for (const statistics of ["never analyzed", "analyzed"]) {
      if (statistics === "analyzed") await client.query("VACUUM ANALYZE inbox");
      for (const mode of planModes) {
        const look = await read("lookAgain", mode, { ids, token: rows[0]?.token ?? "" });
        expect([look.rows, look.buffers < 150], `${mode}, ${statistics}`).toEqual([0, true]);
        const renewal = await read("renewAll", mode, { ids, tokens });
        expect([renewal.rows, renewal.buffers < 400], `${mode}, ${statistics}`).toEqual([10, true]);
      }
    }
  });
});
