/** Claims of all groups at once, where a claim does not look at each of them. */
import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Dialect } from "../../src/dialect/dialect.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import { Broker, type Columns, c, inboxTable, type Queue, retry } from "../../src/index.ts";
import type { TableDescription } from "../../src/table/description.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { describeTable } from "../support/described-table.ts";
import { explain, planModes } from "../support/explain.ts";
import { openTable } from "../support/open-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

// Tens of thousands of rows, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const FORMS = ["row locks", "leases"] as const;

function fifoTable(form: (typeof FORMS)[number]) {
  return describeTable({
    columns: {
      id: ["bigint", "id"],
      grp: ["text", "group"],
      due: ["timestamp", "retryAfter"],
      pay: ["text", "payload"],
      ...(form === "leases" && { lease: ["timestamp", "lockedUntil"] as const }),
    },
    generated: [],
    fifo: "fifo",
  });
}

function statementsOf(table: TableDescription, { lease, rowLock }: Dialect) {
  const { payload } = table.roles;
  const settings = {
    columns: payload ? [payload] : [],
    groups: "every",
    mostRows: 10,
    leaseMs: 30_000,
  } as const;
  const { claim, walkedTo } = (table.form === "lease" ? lease : rowLock)?.(table, settings) ?? {};
  if (claim === undefined || walkedTo === undefined) throw new Error("there is no such form");
  return { claim, walkedTo };
}

/** Several claims until one comes by the group, each of hundreds of probes, on a machine that may be busy. */
const PATIENTLY = { deadline: 90_000 };

interface UntypedTable {
  everyGroup(): Queue;
  ddl(database: string): readonly string[];
}

const GROUPS = 3000;

/**
 * Ids and groups of the n-th row. Ids are far from even, as they are where a text has a prefix, a UUID the time, or
 * numbers a gap: a claim that looked for a row by chance would find the same ones.
 */
const UNEVEN = [
  { id: "bigint", idOf: (n: number) => `${n}`.padStart(n > 1500 ? 16 : 1, "9"), group: "text" },
  { id: "uuid", idOf: (n: number) => `0193a5b8-0000-7000-8000-${digits(n, 12)}`, group: "uuid" },
  { id: "text", idOf: (n: number) => `job-0193a5b8-${digits(n, 6)}`, group: "bigint" },
  { id: "decimal", idOf: (n: number) => `${n > 1500 ? 9e9 + n : n}.5`, group: "integer" },
] as const;

const GROUP_OF = {
  text: (n: number) => `g${digits(n, 4)}`,
  uuid: (n: number) => `7b6f0f5c-6a0e-4a3e-9d57-${digits(n, 12)}`,
  bigint: (n: number) => `${(n - 1000) * 1_000_000_000_000}`,
  integer: (n: number) => `${n - 2000}`,
} as const;

function digits(n: number, length: number): string {
  return String(n).padStart(length, "0");
}

forEachTarget({ connections: "one" }, ({ dialect }, open) => {
  const { later, now } = wordsOf(dialect.name);
  const inAnHour = later(now, 3_600_000);
  const forms = (["rowLock", "lease"] as const).filter((form) =>
    dialect.features.forms.includes(form),
  );
  const each = UNEVEN.flatMap((uneven) => forms.map((form) => ({ ...uneven, form })));

  test.for(each)(
    "47: $form, $id ids, $group groups: of 3,000 groups each that has a row to work gets its turn",
    async ({ form, group, id, idOf }) => {
      const groupOf = GROUP_OF[group];
      const columns: Columns = {
        id: c[id]().id(),
        grp: c[group]().group({ fifo: true }),
        due: c.timestamp().retryAfter().nullable(),
        ...(form === "lease" && { lease: c.timestamp().lockedUntil().nullable() }),
        payload: c.json().payload(),
      };
      const Jobs = inboxTable("jobs", { columns }) as unknown as UntypedTable;
      const database = await open();
      for (const statement of Jobs.ddl(dialect.name)) await database.query(statement);
      const busy = groupOf(2000);
      const wanted = [1, 750, 2400, 3000].map(groupOf);
      for (let first = 1; first <= GROUPS; first += 500) {
        const rows = Array.from({ length: 500 }, (_, index) => {
          const grp = groupOf(first + index);
          const due = grp === busy || wanted.includes(grp) ? "NULL" : inAnHour;
          return `('${idOf(first + index)}', '${grp}', '0', ${due})`;
        });
        await database.query(`INSERT INTO jobs (id, grp, payload, due) VALUES ${rows.join(", ")}`);
      }
      const worked = new Set<string>();
      const broker = new Broker(database.source, { dialect, pollIntervalMs: 20 });
      onTestFinished(() => broker.stop({ graceMs: 0 }));
      broker.subscribe(Jobs.everyGroup(), (_message, { group: of }) => {
        // A group that always has a row to work hides no other.
        if (String(of) === busy) return retry();
        worked.add(String(of));
        return undefined;
      });
      await broker.start();
      await until(() => worked.size === wanted.length, PATIENTLY);
      expect([...worked].sort()).toEqual([...wanted].sort());
    },
  );
});

/** Has the group column take two names for one, where the database can. */
const FOLDED: { readonly [database: string]: readonly string[] } = {
  postgres: ["CREATE EXTENSION citext", "ALTER TABLE jobs ALTER grp TYPE citext"],
  mysql: [
    "ALTER TABLE jobs MODIFY grp VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
  ],
  sqlite: [
    "DROP TABLE jobs",
    "CREATE TABLE jobs (id INTEGER PRIMARY KEY, grp TEXT COLLATE NOCASE, due TEXT, pay TEXT, lease TEXT)",
    "CREATE INDEX jobs_claim_idx ON jobs (grp, due, id)",
  ],
  sqlserver: [
    "DROP INDEX [jobs_claim_idx] ON [jobs]",
    "DROP INDEX [jobs_lease_idx] ON [jobs]",
    "ALTER TABLE [jobs] ALTER COLUMN [grp] nvarchar(200) COLLATE Latin1_General_CI_AS NOT NULL",
  ],
};

forEachTarget({ connections: "one" }, ({ dialect, name }, open) => {
  const folded = FOLDED[dialect.name];
  test.skipIf(folded === undefined || name === "pglite")(
    "47: claims go round groups of which a collation takes two names for one, and pass over none",
    async () => {
      const table = fifoTable("leases");
      const opened = await openTable(open, dialect, table);
      const session = await opened.session();
      const run = (text: string) => session.connection.query(text);
      for (const statement of folded ?? []) await run(statement);
      // Capitals come first where bytes decide; every tenth has both names.
      const nameOf = (n: number) => `${n % 2 === 0 ? "G" : "g"}${digits(n, 4)}`;
      const names = Array.from({ length: 1200 }, (_, index) => nameOf(index + 1));
      const others = names.filter((_, index) => index % 10 === 0).map((each) => each.toUpperCase());
      const { later, now } = wordsOf(dialect.name);
      const rows = [...names, ...others].map(
        (grp, index) => `(${index + 1}, '${grp}', 'x', ${later(now, 3_600_000)})`,
      );
      for (let first = 0; first < rows.length; first += 500) {
        const some = rows.slice(first, first + 500).join(", ");
        await run(`INSERT INTO jobs (id, grp, pay, due) VALUES ${some}`);
      }
      const { claim, walkedTo } = statementsOf(table, dialect);
      const seen: number[] = [];
      let after: string | null = null;
      for (let round = 1; round <= 12; round += 1) {
        const values: Record<string, unknown> = { after, limit: 10, leaseMs: 30_000 };
        expect(await session.alone(claim, values)).toEqual([]);
        const found: { group: string }[] = await session.run(walkedTo, values);
        after = found[0]?.group ?? null;
        seen.push(Number(after?.slice(1)));
      }
      // 500 further each time, round the circle of 1,200.
      expect(seen).toEqual(seen.map((_, index) => ((500 * (index + 1) - 1) % 1200) + 1));
    },
  );
});

describeOn("postgres", "47: what a claim of every group reads", () => {
  const each = FORMS.flatMap((form) =>
    [null, "g5"].flatMap((after) =>
      // Each probe of an index may go a page deeper, and a claim makes two a group.
      [
        { groups: 10, rows: 10, last: 0, more: 300 },
        { groups: 700, rows: 10, last: 1, more: 2500 },
      ].map((size) => ({ ...size, after, form })),
    ),
  );
  test.for(each)(
    "$form, $groups groups, behind $after: no more before 100,000 rows",
    async ({ after, form, groups, last, more, rows }) => {
      const database = await createDatabase();
      onTestFinished(() => database.drop());
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      onTestFinished(() => client.end());
      const table = fifoTable(form);
      const { claim, walkedTo } = statementsOf(table, postgres);
      const given = new Map<string, string | number | null>([
        ["after", after],
        ["limit", 10],
        ["leaseMs", 30_000],
      ]);
      const costs = { claim: [] as number[], walkedTo: [] as number[] };
      for (const count of [1000, 100_000]) {
        await client.query("DROP TABLE IF EXISTS jobs");
        for (const statement of postgres.ddl(table)) await client.query(statement);
        await client.query("ALTER TABLE jobs SET UNLOGGED, SET (autovacuum_enabled = false)");
        await client.query(`INSERT INTO jobs (id, grp, pay)
          SELECT n, 'g' || n % ${groups}, repeat('x', 100) FROM generate_series(1, ${count}) AS n`);
        for (const step of ["", "VACUUM ANALYZE jobs"]) {
          if (step !== "") await client.query(step);
          for (const mode of planModes) {
            for (const [which, statement] of Object.entries({ claim, walkedTo })) {
              const values = statement.params.map((name) => given.get(name) ?? null);
              const found = await explain(client, statement, values, mode);
              expect(found.rows).toBe(which === "claim" ? rows : last);
              expect(found.compiled).toBe(false);
              if (count > 1000) expect(found.scanned).toEqual([]);
              costs[which === "claim" ? "claim" : "walkedTo"].push(found.buffers);
            }
          }
        }
      }
      for (const read of [costs.claim, costs.walkedTo]) {
        expect(Math.max(...read)).toBeLessThan(Math.min(...read) + more);
      }
    },
  );
});
