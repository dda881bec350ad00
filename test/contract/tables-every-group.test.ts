/** Claims of all groups at once, where a claim does not look at each of them. */
import { createHash } from "node:crypto";
import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ClaimedRow, Dialect } from "../../src/dialect/dialect.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import type { ColumnType } from "../../src/table/description.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { describeTable } from "../support/described-table.ts";
import { explain, planModes } from "../support/explain.ts";
import { openTable } from "../support/open-table.ts";
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

const each = Object.entries(IDS).flatMap(([id, value]) =>
  (["row locks", "leases"] as const).map((form) => ({ id: id as keyof typeof IDS, value, form })),
);

/** The n-th id of the type, as a literal that every database takes for one: texts as the library makes them. */
function literalOf(id: keyof typeof IDS, n: number): string {
  if (id === "decimal") return `'${n}.5'`;
  if (id === "bigint") return `'${n}'`;
  const digits = createHash("md5").update(String(n)).digest("hex");
  return `'${digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")}'`;
}

/** One in six claims comes by the group, and a busy machine takes its time for each. */
const PATIENTLY = { deadline: 90_000 };

const GROUPS = 3000;
const groupOf = (n: number) => `g${String(n).padStart(4, "0")}`;

forEachTarget({ connections: "one" }, ({ dialect }, open) => {
  const { later, now } = wordsOf(dialect.name);
  const inAnHour = later(now, 3_600_000);
  const isRowLock = dialect.features.forms.includes("rowLock");

  test.for(each.filter(({ form }) => form === "leases" || isRowLock))(
    "47: $form, $id ids: of 3,000 groups the only one with a row to work gets its turn",
    async ({ form, id }) => {
      const table = fifoTable(id, form);
      const opened = await openTable(open, dialect, table);
      const session = await opened.session();
      const run = (text: string) => session.connection.query(text);
      for (let first = 1; first <= GROUPS; first += 500) {
        const rows = Array.from({ length: 500 }, (_, index) => {
          const n = first + index;
          return `(${literalOf(id, n)}, '${groupOf(n)}', '${"x".repeat(200)}', ${inAnHour})`;
        });
        await run(`INSERT INTO jobs (id, grp, pay, due) VALUES ${rows.join(", ")}`);
      }
      // A claim looks at 500 groups, from one that chance has it start at.
      for (const grp of dialect.name === "postgres" ? ["g0001", "g1500", "g3000"] : ["g1500"]) {
        await run(`UPDATE jobs SET due = NULL WHERE grp = '${grp}'`);
        const found: unknown[] = [];
        await until(async () => {
          const rows = await session.alone<ClaimedRow>(claimOf(table, dialect), {
            limit: 10,
            leaseMs: 30_000,
          });
          found.push(...rows.map(({ group }) => group));
          return found.length > 0;
        }, PATIENTLY);
        expect(found).toEqual([grp]);
        await run(`UPDATE jobs SET due = ${inAnHour} WHERE grp = '${grp}'`);
      }
      // Locks of groups that a session holds, where it is the session that holds them.
      if (dialect.name === "mysql") await run("SELECT RELEASE_ALL_LOCKS()");
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
