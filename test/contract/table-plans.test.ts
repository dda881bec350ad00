/**
 * What the statements of described tables read, counted in pages (buffers): prepared, under custom and
 * generic plans, with statistics and without any, with the indexes that `ddl` makes.
 */
import pg from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import type { Statement } from "../../src/dialect/statement.ts";
import type { TableDescription } from "../../src/table/description.ts";
import { createDatabase, describeOn, type TestDatabase } from "../support/databases.ts";
import { describeTable, type TestColumns } from "../support/described-table.ts";
import { type Explained, explain, planModes } from "../support/explain.ts";

// Hundreds of thousands of rows, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000 });

const BASE = {
  id: ["bigint", "id"],
  grp: ["text", "group"],
  due: ["timestamp", "retryAfter"],
  att: ["integer", "attempt"],
  pay: ["text", "payload"],
} as const satisfies TestColumns;
const LEASE = { lease: ["timestamp", "lockedUntil"] } as const satisfies TestColumns;
const PRIORITY = { prio: ["integer", "priority"] } as const satisfies TestColumns;
const DONE = { done: ["timestamp", "processedAt"] } as const satisfies TestColumns;

const TABLES = {
  "row locks": describeTable({ columns: BASE }),
  "row locks, priority, marked": describeTable({ columns: { ...BASE, ...PRIORITY, ...DONE } }),
  leases: describeTable({ columns: { ...BASE, ...LEASE } }),
  "leases, priority, marked": describeTable({
    columns: { ...BASE, ...LEASE, ...PRIORITY, ...DONE },
  }),
  "advisory locks": describeTable({ columns: BASE, lockKey: ["job-", "id"] }),
  "row locks, fifo": describeTable({ columns: BASE, fifo: "fifo" }),
  "leases, fifo": describeTable({ columns: { ...BASE, ...LEASE }, fifo: "fifo" }),
  "leases, strict": describeTable({ columns: { ...BASE, ...LEASE, ...PRIORITY }, fifo: "strict" }),
} as const;

type Way = { readonly name: string; readonly analyzed: boolean };

describeOn("postgres", "what the statements of a described table read", () => {
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

  /** A new table with its indexes and so many rows in ten groups, which nobody analyzes unasked. */
  async function fill(table: TableDescription, count: number, due: string): Promise<void> {
    await client.query("DROP TABLE IF EXISTS jobs");
    for (const statement of postgres.ddl(table)) await client.query(statement);
    await client.query("ALTER TABLE jobs SET UNLOGGED, SET (autovacuum_enabled = false)");
    const priority = table.roles.priority === undefined ? "" : ", prio";
    await client.query(`INSERT INTO jobs (grp, pay, due${priority})
      SELECT 'g' || n % 10, repeat('x', 100), ${due}${priority && ", nullif(n % 4, 3)"}
      FROM generate_series(1, ${count}) AS n`);
  }

  async function read(statement: Statement, values: Record<string, string | number>, way: string) {
    const found: Explained[] = [];
    for (const mode of planModes) {
      const given = { group: "g1", limit: 10, leaseMs: 30_000, ...values };
      const inOrder = statement.params.map(
        (param) => Object.entries(given).find(([name]) => name === param)?.[1] ?? null,
      );
      const one = await explain(client, statement, inOrder, mode);
      await client.query("SELECT pg_advisory_unlock_all()");
      // Compiling takes longer than the whole claim.
      expect(one.compiled, way).toBe(false);
      found.push(one);
    }
    return found;
  }

  async function eachWay(check: (way: Way) => Promise<void>): Promise<void> {
    await check({ name: "never analyzed", analyzed: false });
    await client.query("VACUUM ANALYZE jobs");
    await check({ name: "analyzed", analyzed: true });
  }

  function statementsOf(table: TableDescription, groups: "one" | "every") {
    const { payload } = table.roles;
    const settings = { columns: payload ? [payload] : [], groups, mostRows: 10, leaseMs: 30_000 };
    const { advisoryLock, lease, rowLock } = postgres;
    const statements = { advisoryLock, lease, rowLock }[table.form]?.(table, settings);
    if (statements === undefined) throw new Error("no statements");
    return statements;
  }

  function claimOf(table: TableDescription, groups: "one" | "every"): Statement {
    const { claim } = statementsOf(table, groups);
    if (claim === undefined) throw new Error("no claim");
    return claim;
  }

  function claims(table: TableDescription): [string, Statement][] {
    const one: [string, Statement] = ["one group", claimOf(table, "one")];
    return table.fifo === "none" ? [one] : [one, ["every group", claimOf(table, "every")]];
  }

  const DUE = {
    "due for an hour": "now() - interval '1 hour' + n * interval '1 ms'",
    "without a due time": "NULL",
  };

  test.for(Object.entries(TABLES))(
    "%s: a claim costs the same before 1,000 rows and before 100,000",
    async ([, table]) => {
      for (const [when, due] of Object.entries(DUE)) {
        const costs = new Map<string, number>();
        for (const count of [1_000, 30_000, 100_000]) {
          await fill(table, count, due);
          await eachWay(async (way) => {
            for (const [which, claim] of claims(table)) {
              const name = `${which}, ${when}, ${way.name}`;
              for (const found of await read(claim, {}, name)) {
                expect(found.rows, `${name}, ${count}`).toBe(
                  which === "one group" && table.fifo !== "none" ? 1 : 10,
                );
                if (count > 1_000) expect(found.scanned, `${name}, ${count}`).not.toContain("jobs");
                const first = costs.get(name) ?? found.buffers;
                costs.set(name, Math.max(first, found.buffers));
                // A page more for each level of an index, in each of some dozens of lookups.
                expect(found.buffers, `${name}, ${count}: ${first}`).toBeLessThan(first + 160);
              }
            }
          });
        }
        if (table.fifo === "none")
          for (const [name, cost] of costs) expect(cost, name).toBeLessThan(400);
      }
    },
  );

  test.for(Object.entries(TABLES))(
    "%s: an empty claim before 100,000 rows due later reads under 50 pages",
    async ([, table]) => {
      await fill(table, 100_000, "now() + interval '1 hour' + n * interval '1 ms'");
      await eachWay(async ({ name }) => {
        for (const [which, claim] of claims(table)) {
          // Every group is looked at, and there are ten.
          const most = which === "one group" ? 50 : 250;
          for (const found of await read(claim, {}, name)) {
            expect(found.rows, name).toBe(0);
            expect(found.buffers, `${which}, ${name}`).toBeLessThan(most);
          }
        }
      });
    },
  );

  test("a claim reads on past 1,000 rows that others have leased", async () => {
    const table = TABLES.leases;
    await fill(table, 100_000, "NULL");
    await client.query(
      "UPDATE jobs SET lease = now() + interval '1 h' WHERE id IN (SELECT id FROM jobs WHERE grp = 'g1' ORDER BY id LIMIT 1000)",
    );
    await eachWay(async ({ name }) => {
      for (const [, claim] of claims(table)) {
        for (const found of await read(claim, {}, name)) {
          expect(found.rows, name).toBe(10);
          expect(found.buffers, name).toBeLessThan(5_000);
        }
      }
    });
  });

  test.for(Object.entries(TABLES))(
    "%s: settlements of one row are not planned anew each time",
    async ([, table]) => {
      await fill(table, 1_000, "NULL");
      await client.query("VACUUM ANALYZE jobs");
      const given = { ids: "{987654}", tokens: "{x}", attempts: "{1}", delaysMs: "{5}" };
      const { ack, retry, retryAfter } = statementsOf(table, "one");
      for (const [which, statement] of Object.entries({ ack, retry, retryAfter })) {
        if (statement === undefined) continue;
        await client.query(`PREPARE settle AS ${statement.text}`);
        const settle = `EXECUTE settle(${statement.params
          .map((param) => `'${Object.entries(given).find(([name]) => name === param)?.[1]}'`)
          .join(", ")})`;
        // The server takes five plans made for the values to compare with one that fits all.
        for (let times = 0; times < 6; times += 1) await client.query(settle);
        const { rows } = await client.query(`EXPLAIN (VERBOSE) ${settle}`);
        await client.query("DEALLOCATE settle");
        expect(JSON.stringify(rows), which).not.toContain("987654");
      }
    },
  );

  test("settlements and extensions of 100 rows find them by the primary key", async () => {
    const table = TABLES.leases;
    await fill(table, 100_000, "NULL");
    const { payload } = table.roles;
    const statements = postgres.lease?.(table, {
      columns: payload ? [payload] : [],
      groups: "one",
      mostRows: 100,
      leaseMs: 30_000,
    });
    if (statements === undefined || payload === undefined) throw new Error("no leases");
    const claimed = await client.query<{ id: string; token: string; attempt: string }>(
      statements.claim.text,
      statements.claim.params.map((name) => ({ group: "g1", limit: 100, leaseMs: 30_000 })[name]),
    );
    const list = (name: "id" | "token" | "attempt") =>
      String(postgres.list(claimed.rows.map((row) => row[name])));
    const held = {
      ids: list("id"),
      tokens: list("token"),
      attempts: list("attempt"),
      delaysMs: String(postgres.list(claimed.rows.map(() => 5))),
    };
    await eachWay(async ({ name }) => {
      for (const which of [
        "ack",
        "retry",
        "retryAfter",
        "extend",
        "release",
        "ackOrFail",
        "lockOrFail",
        "readBack",
      ] as const) {
        const statement = statements[which];
        if (statement === undefined) throw new Error(`no ${which}`);
        for (const found of await read(statement, held, `${which}, ${name}`)) {
          expect(found.scanned, `${which}, ${name}`).not.toContain("jobs");
          // An update that finds no room in its page writes to each index.
          expect(found.buffers, `${which}, ${name}`).toBeLessThan(3_000);
        }
      }
    });
  });
});
