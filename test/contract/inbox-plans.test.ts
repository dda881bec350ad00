/**
 * What the claims read, counted in pages (buffers), of the statements as they are sent: prepared, under
 * custom and generic plans, with statistics and without any.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { defaultSchema } from "../../src/dialect/inbox-schema.ts";
import { claimStatement } from "../../src/dialect/postgres/inbox-claim.ts";
import {
  claimPastByAggregateStatement,
  claimPastInOrderStatement,
} from "../../src/dialect/postgres/inbox-claim-past.ts";
import { postgresInboxStatements } from "../../src/dialect/postgres/inbox-contract.ts";
import { aggregateIndexDdl, inboxDdl } from "../../src/dialect/postgres/inbox-ddl.ts";
import { renewAllStatement } from "../../src/dialect/postgres/inbox-lease.ts";
import { lookAgainStatement } from "../../src/dialect/postgres/inbox-look-again.ts";
import { createDatabase, describeOn, type TestDatabase } from "../support/databases.ts";
import { type Explained, explain, type PlanMode, planModes } from "../support/explain.ts";
import { addRows, type InboxRows } from "../support/inbox-rows.ts";

// Hundreds of thousands of rows, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000 });

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

  /** A new table with these rows, with every index, which nobody analyzes behind the test's back. */
  async function table(...parts: readonly InboxRows[]): Promise<void> {
    await client.query("DROP TABLE IF EXISTS inbox");
    for (const statement of inboxDdl({ extraIndexes: true })) await client.query(statement);
    // Unlogged: loading is most of what this file takes.
    await client.query("ALTER TABLE inbox SET UNLOGGED, SET (autovacuum_enabled = false)");
    for (const rows of parts) await addRows(client, rows);
  }

  /** Another session. */
  async function connected(): Promise<pg.Client> {
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    onTestFinished(() => other.end());
    return other;
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

  /**
   * Checks each statement under each kind of plan, with and without statistics, with and without the
   * extra index.
   */
  async function eachWay(
    names: readonly Name[],
    check: (found: Explained, way: string, name: Name) => void,
  ) {
    const checkAll = async (way: string, some: readonly Name[]): Promise<void> => {
      for (const mode of planModes) {
        for (const name of some) check(await read(name, mode), `${name}, ${mode}, ${way}`, name);
      }
    };
    const withoutIndex = names.filter((name) => name !== "byAggregate");
    await checkAll("never analyzed, extra index", names);
    await client.query("DROP INDEX inbox_aggregate_due_idx");
    await checkAll("never analyzed", withoutIndex);
    await client.query("VACUUM ANALYZE inbox");
    await checkAll("analyzed", withoutIndex);
    await client.query(aggregateIndexDdl(defaultSchema));
    await checkAll("analyzed, extra index", names);
  }

  test("an empty claim before 200,000 rows that are due later reads under 50 pages", async () => {
    await table({ count: 200_000, aggregate: "'a' || n % 1000", startSeconds: 3600 });
    // The walk by aggregate visits a bounded number of aggregates; no worker runs it on an empty claim.
    await eachWay(["claim", "public", "inOrder"], (found, way) => {
      expect(found.buffers, way).toBeLessThan(50);
    });
  });

  test("a claim of ten costs the same before 1,000 rows and before 100,000", async () => {
    const costs = new Map<string, number>();
    for (const count of [1_000, 10_000, 100_000]) {
      await table({ count, aggregate: `'a' || n % ${count / 5}` });
      await eachWay(["claim", "public", "inOrder", "byAggregate"], (found, way) => {
        expect(found.written, `${way}, ${count}`).toBe(10);
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
    const names = ["claim", "public", "inOrder", "byAggregate"] as const;
    await table(waiting);
    const costs = new Map<string, number>();
    await eachWay(names, (found, way) => {
      costs.set(way, found.buffers);
    });
    await table(
      { count: 100_000, aggregate: "'a' || n % 200", state: "processed", startSeconds: -86_400 },
      waiting,
    );
    await eachWay(names, (found, way) => {
      expect(found.written, way).toBe(10);
      expect(found.scanned, way).toEqual([]);
      expect(found.buffers, way).toBeLessThan(1.5 * (costs.get(way) ?? 0));
    });
  });

  test.each([
    [
      "in work",
      [
        {
          count: 1,
          aggregate: "'hot'",
          state: "processing",
          leaseSeconds: 3600,
          startSeconds: -7200,
        },
      ],
    ],
    ["free", []],
  ] as const)(
    "a hot aggregate that is %s, with 10,000 rows at the head, starves nobody",
    async (_what, busy) => {
      const costs = new Map<string, number>();
      for (const hot of [1_000, 10_000]) {
        await table(
          ...busy,
          { count: hot, aggregate: "'hot'" },
          { count: 100, aggregate: "'b' || n", startSeconds: -60 },
          { count: 20, startSeconds: -30 },
        );
        await eachWay(["claim", "inOrder", "byAggregate"], (found, way, name) => {
          if (name === "claim") {
            expect([found.written, found.buffers < 50], way).toEqual([1 - busy.length, true]);
            return;
          }
          expect(found.written, `${way}, ${hot}`).toBe(10);
          const first = costs.get(way) ?? found.buffers;
          costs.set(way, first);
          // In order, the hot rows are read once; by aggregate they are not read.
          const bound = name === "byAggregate" ? 1.3 * first : first + hot / 10;
          expect(found.buffers, `${way}, ${hot}`).toBeLessThan(bound);
        });
      }
    },
  );

  test("by aggregate, neither a long aggregate with an expired row nor rows without one are read", async () => {
    const expired = {
      count: 1,
      aggregate: "'hot'",
      state: "processing",
      leaseSeconds: -1,
      startSeconds: -7200,
    } as const;
    await table(
      expired,
      { count: 100_000, aggregate: "'hot'" },
      { count: 50_000, startSeconds: -30 },
    );
    await eachWay(["byAggregate"], (found, way) => {
      expect(found.written, way).toBe(10);
      expect(found.buffers, way).toBeLessThan(400);
    });
  });

  test("by aggregate, rows that others have locked cost a few pages each, however many are free behind them", async () => {
    const hot = { count: 1_000, aggregate: "'hot'", startSeconds: -7200 } as const;
    const busy = { ...hot, count: 1, state: "processing", leaseSeconds: 3600 } as const;
    const others = await connected();
    for (const kind of ["alone", "expired"] as const) {
      const expired = { aggregate: "'e' || n", state: "processing", leaseSeconds: -1 } as const;
      await table(busy, hot, {
        count: kind === "alone" ? 50_000 : 2_000,
        startSeconds: -3600,
        ...(kind === "expired" && expired),
      });
      await eachWay(["byAggregate"], (found, way) => {
        expect(found.written, `${way}, ${kind}`).toBe(10);
        if (kind === "alone") expect(found.buffers, way).toBeLessThan(400);
      });
      const costs = new Map<string, number>();
      for (const locked of [300, 900]) {
        await others.query("BEGIN");
        await others.query(
          `SELECT 1 FROM inbox WHERE aggregate_id IS DISTINCT FROM 'hot'
           ORDER BY scheduled_at, created_at, id LIMIT ${locked} FOR UPDATE`,
        );
        for (const mode of planModes) {
          const found = await read("byAggregate", mode);
          const way = `${kind}, ${locked} locked, ${mode}`;
          expect(found.written, way).toBe(10);
          const before = costs.get(mode);
          costs.set(mode, found.buffers);
          // Beside the row itself, an aggregate's probes.
          const each = kind === "alone" ? 8 : 16;
          if (before !== undefined) expect(found.buffers - before, way).toBeLessThan(600 * each);
        }
        await others.query("ROLLBACK");
      }
    }
  });

  test("statistics from before a burst mislead nobody", async () => {
    const done = {
      count: 100_000,
      aggregate: "nullif('c' || n % 40, 'c0')",
      state: "processed",
      startSeconds: -86_400,
    } as const;
    await table(done);
    await client.query("VACUUM ANALYZE inbox");
    await addRows(client, { count: 5_000, aggregate: "'hot'" });
    await addRows(client, { count: 20_000, startSeconds: -30 });
    for (const mode of planModes) {
      for (const name of ["claim", "public", "inOrder", "byAggregate"] as const) {
        const found = await read(name, mode);
        const isWalk = name === "inOrder" || name === "byAggregate";
        expect(found.written, `${name}, ${mode}`).toBe(isWalk ? 10 : 1);
        expect(found.buffers, `${name}, ${mode}`).toBeLessThan(name === "inOrder" ? 700 : 400);
      }
    }
  });

  test("what a worker runs beside the claim reads a few pages a row", async () => {
    await table(
      { count: 100_000, aggregate: "'a' || n % 200", state: "processed", startSeconds: -86_400 },
      { count: 10, aggregate: "'b' || n", state: "processing", leaseSeconds: 3600 },
      { count: 10_000, aggregate: "'b' || n % 10" },
    );
    const token = randomUUID();
    await client.query(`UPDATE inbox SET claim_token = '${token}' WHERE state = 'processing'`);
    const { rows } = await client.query<{ id: string }>(
      "SELECT id FROM inbox WHERE state = 'processing'",
    );
    const ids = `{${rows.map(({ id }) => id).join()}}`;
    const tokens = `{${rows.map(() => token).join()}}`;
    for (const statistics of ["never analyzed", "analyzed"]) {
      if (statistics === "analyzed") await client.query("VACUUM ANALYZE inbox");
      for (const mode of planModes) {
        const look = await read("lookAgain", mode, { ids, token });
        expect([look.rows, look.buffers < 150], `${mode}, ${statistics}`).toEqual([0, true]);
        const renewal = await read("renewAll", mode, { ids, tokens });
        expect([renewal.written, renewal.buffers < 400], `${mode}, ${statistics}`).toEqual([
          10,
          true,
        ]);
      }
    }
  });
});
