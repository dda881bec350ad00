/** Claims of all groups at once, where a claim does not look at each of them. */
import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ClaimedRow } from "../../src/dialect/dialect.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import type { ColumnType } from "../../src/table/description.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { describeTable } from "../support/described-table.ts";
import { explain, planModes } from "../support/explain.ts";
import { openTable } from "../support/open-table.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

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

function claimOf(table: ReturnType<typeof fifoTable>) {
  const { payload } = table.roles;
  const settings = {
    columns: payload ? [payload] : [],
    groups: "every",
    mostRows: 10,
    leaseMs: 30_000,
  } as const;
  const claim = (table.form === "lease" ? postgres.lease : postgres.rowLock)?.(
    table,
    settings,
  ).claim;
  if (claim === undefined) throw new Error("no claim");
  return claim;
}

const each = Object.entries(IDS).flatMap(([id, value]) =>
  (["row locks", "leases"] as const).map((form) => ({ id: id as keyof typeof IDS, value, form })),
);

forEachSource({ connections: "one" }, (_name, open) => {
  test.for(each)(
    "47: $form, $id ids: of 3,000 groups the only one with a row to work gets its turn",
    async ({ form, id, value }) => {
      const table = fifoTable(id, form);
      const opened = await openTable(open, postgres, table);
      await opened.query(`INSERT INTO jobs (id, grp, pay, due)
        SELECT ${value}, 'g' || lpad(n::text, 4, '0'), repeat('x', 200), now() + interval '1 hour'
        FROM generate_series(1, 3000) AS n`);
      const session = await opened.session();
      for (const grp of ["g0001", "g1500", "g3000"]) {
        await opened.query("UPDATE jobs SET due = NULL WHERE grp = $1", [grp]);
        const found: unknown[] = [];
        await until(async () => {
          const rows = await session.alone<ClaimedRow>(claimOf(table), {
            limit: 10,
            leaseMs: 30_000,
          });
          found.push(...rows.map(({ group }) => group));
          return found.length > 0;
        });
        expect(found).toEqual([grp]);
        await opened.query("UPDATE jobs SET due = now() + interval '1 hour' WHERE grp = $1", [grp]);
      }
    },
  );
});

describeOn("postgres", "47: what a claim of every group reads", () => {
  test.for(each)("$form, $id ids: no more before 100,000 rows", async ({ form, id, value }) => {
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
          const statement = claimOf(table);
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
