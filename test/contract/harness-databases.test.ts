import pg from "pg";
import { expect, test } from "vitest";
import { createDatabase, describeOn } from "../support/databases.ts";
import { until } from "../support/until.ts";

describeOn("postgres", "the harness: databases", () => {
  test("each is a database of its own", async () => {
    const first = await createDatabase();
    const second = await createDatabase();
    try {
      await first.query("CREATE TABLE things (id int); INSERT INTO things VALUES (1)");
      const { rows } = await first.query("SELECT id FROM things WHERE id = $1", [1]);
      expect(rows).toEqual([{ id: 1 }]);
      expect((await second.query("SELECT to_regclass('things') AS found")).rows).toEqual([
        { found: null },
      ]);
    } finally {
      await first.drop();
      await second.drop();
    }
  });

  test("one that was dropped comes back as a new one, and cuts off who is still connected", async () => {
    const first = await createDatabase();
    await first.query('CREATE TABLE things (id int); CREATE SCHEMA "Other"');
    await first.query(
      `ALTER DATABASE ${nameOf(first.url)} SET default_transaction_isolation = 'serializable'`,
    );
    const client = new pg.Client({ connectionString: first.url });
    let lost = false;
    client.on("error", () => {
      lost = true;
    });
    await client.connect();
    await client.query("BEGIN; SELECT FROM things");
    await first.drop();
    await until(() => lost);

    const second = await createDatabase();
    const state = await second.query(
      `SELECT array_agg(nspname::text) AS schemas, current_setting('transaction_isolation') AS isolation
       FROM pg_namespace WHERE nspname !~ '^pg_|^information_schema$'`,
    );
    const tables = await second.query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'");
    await second.drop();
    expect(nameOf(second.url)).toBe(nameOf(first.url));
    expect(state.rows).toEqual([{ schemas: ["public"], isolation: "read committed" }]);
    expect(tables.rows).toEqual([]);
  });
});

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}
