/** Claims of all groups at once, where a claim does not look at each of them. */
import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Dialect } from "../../src/dialect/dialect.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import { Broker, type Columns, c, inboxTable, type Queue, retry } from "../../src/index.ts";
import type { ColumnType } from "../../src/table/description.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { describeTable } from "../support/described-table.ts";
import { explain, planModes } from "../support/explain.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

// Tens of thousands of rows, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const IDS = {
  bigint: "n",
  uuid: "md5(n::text)::uuid",
  text: "'job-' || md5(n::text)",
  decimal: "n + 0.5",
} as const satisfies { readonly [type in ColumnType]?: string };

function fifoTable(id: ColumnType, form: "row locks" | "leases") {
  return describeTable({
    columns: {
      id: [id, "id"],
      grp: ["text", "group"],
      due: ["timestamp", "retryAfter"],
      pay: ["text", "payload"],
      ...(form === "leases" && { lease: ["timestamp", "lockedUntil"] as const }),
    },
    generated: [],
    fifo: "fifo",
  });
}

function claimOf(table: ReturnType<typeof fifoTable>, { lease, rowLock }: Dialect) {
  const { payload } = table.roles;
  const settings = {
    columns: payload ? [payload] : [],
    groups: "every",
    mostRows: 10,
    leaseMs: 30_000,
  } as const;
  const claim = (table.form === "lease" ? lease : rowLock)?.(table, settings).claim;
  if (claim === undefined) throw new Error("no claim");
  return claim;
}

const eachForm = Object.entries(IDS).flatMap(([id, value]) =>
  (["row locks", "leases"] as const).map((form) => ({ id: id as keyof typeof IDS, value, form })),
);

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

describeOn("postgres", "47: what a claim of every group reads", () => {
  test.for(eachForm)("$form, $id ids: no more before 100,000 rows", async ({ form, id, value }) => {
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    onTestFinished(() => client.end());
    const table = fifoTable(id, form);
    const costs: number[] = [];
    for (const count of [1000, 100_000]) {
      await client.query("DROP TABLE IF EXISTS jobs");
      for (const statement of postgres.ddl(table)) await client.query(statement);
      await client.query("ALTER TABLE jobs SET UNLOGGED, SET (autovacuum_enabled = false)");
      await client.query(`INSERT INTO jobs (id, grp, pay)
        SELECT ${value}, 'g' || n % 10, repeat('x', 100) FROM generate_series(1, ${count}) AS n`);
      for (const step of ["", "VACUUM ANALYZE jobs"]) {
        if (step !== "") await client.query(step);
        for (const mode of planModes) {
          const statement = claimOf(table, postgres);
          const given = new Map([
            ["limit", 10],
            ["leaseMs", 30_000],
          ]);
          const values = statement.params.map((name) => given.get(name) ?? null);
          const found = await explain(client, statement, values, mode);
          expect(found.rows).toBe(10);
          expect(found.compiled).toBe(false);
          if (count > 1000) expect(found.scanned).toEqual([]);
          costs.push(found.buffers);
        }
      }
    }
    expect(Math.max(...costs)).toBeLessThan(Math.min(...costs) + 300);
  });
});
