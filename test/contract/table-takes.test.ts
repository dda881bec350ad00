/** The statements around events of the service's own, one by one. */
import { expect, test } from "vitest";
import type { ClaimedRow, Dialect } from "../../src/dialect/dialect.ts";
import type { CustomEvents, TableDescription } from "../../src/table/description.ts";
import { describeTable, type TestColumns } from "../support/described-table.ts";
import { openTable } from "../support/open-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const COLUMNS = {
  id: ["bigint", "id"],
  grp: ["text", "group"],
  att: ["integer", "attempt"],
  lease: ["timestamp", "lockedUntil"],
  pay: "text",
} as const satisfies TestColumns;
const LEASE_MS = 30_000;

const event = async (): Promise<never> => {
  throw new Error("only the statements around it run here");
};
const events: CustomEvents = { claim: event, extend: event };

function leases(dialect: Dialect, table: TableDescription, leasePrecision = 6) {
  const statements = dialect.lease?.(table, {
    columns: [],
    groups: "one",
    mostRows: 10,
    leaseMs: LEASE_MS,
    leasePrecision,
  });
  if (statements === undefined) throw new Error("no leases");
  return statements;
}

forEachTarget({ connections: "one", form: "lease" }, ({ dialect }, open) => {
  const named = (...ids: readonly string[]) => ({
    ids: dialect.list(ids),
    group: "a",
    leaseMs: LEASE_MS,
  });
  const insertThree = "INSERT INTO jobs (grp, pay) VALUES ('a', 'x'), ('a', 'y'), ('b', 'z')";

  test("66: named rows are leased in the order of their names, and those of other groups are not", async () => {
    const table = { ...describeTable({ columns: COLUMNS }), custom: events };
    const opened = await openTable(open, dialect, table);
    await opened.query(insertThree);
    const session = await opened.session();
    const { ack, take } = leases(dialect, table);
    const rows = await session.alone<ClaimedRow>(take, named("9", "2", "3", "1"));
    expect(rows.map(({ id, attempt }) => [id, attempt])).toEqual([
      ["2", "2"],
      ["1", "2"],
    ]);
    expect(await session.alone(take, named("2", "1"))).toEqual([]);
    const settled = await session.alone<{ id: string }>(ack, session.held(rows));
    expect(settled.map(({ id }) => id).sort()).toEqual(["1", "2"]);
  });

  test("45, 66: of a fifo group the first named row is leased, and while its lease holds no other", async () => {
    const table = { ...describeTable({ columns: COLUMNS, fifo: "fifo" }), custom: events };
    const opened = await openTable(open, dialect, table);
    await opened.query(insertThree);
    const session = await opened.session();
    const { release, take } = leases(dialect, table);
    const rows = await session.alone<ClaimedRow>(take, named("3", "2", "1"));
    expect(rows).toMatchObject([{ id: "2", attempt: "2", group: "a", key: "a" }]);
    expect(await session.alone(take, named("1"))).toEqual([]);
    await session.alone(release, session.held(rows));
    expect(await session.alone(take, named("1"))).toMatchObject([{ id: "1" }]);
  });

  test("45: who takes a fifo group over settles alone: a lease that has run out there is over", async () => {
    const table = { ...describeTable({ columns: COLUMNS, fifo: "fifo" }), custom: events };
    const opened = await openTable(open, dialect, table);
    await opened.query(insertThree);
    const session = await opened.session();
    const { ack, take } = leases(dialect, table);
    const first = await session.alone<ClaimedRow>(take, { ...named("1"), leaseMs: 1 });
    expect(first).toHaveLength(1);
    let second: ClaimedRow[] = [];
    await until(async () => {
      second = await session.alone<ClaimedRow>(take, named("2"));
      return second.length > 0;
    });
    expect(await session.alone(ack, session.held(first))).toEqual([]);
    expect(await session.alone(ack, session.held(second))).toMatchObject([{ id: "2" }]);
  });

  test("33: the token of a lease that nobody has written is as it was, and rows of others are lost", async () => {
    const table = { ...describeTable({ columns: COLUMNS }), custom: events };
    const opened = await openTable(open, dialect, table);
    await opened.query(insertThree);
    const session = await opened.session();
    const { extendable, take, tokens } = leases(dialect, table);
    const rows = await session.alone<ClaimedRow>(take, named("1", "2"));
    const [, second] = rows;
    const held = session.held(rows.map((row) => (row === second ? { ...row, attempt: "9" } : row)));
    const answers = await session.alone<{ id: string; outcome: string; held: unknown }>(
      extendable,
      {
        ...held,
        leaseMs: LEASE_MS,
      },
    );
    expect(answers.filter(({ outcome }) => outcome === "ours")).toMatchObject([{ id: "1" }]);
    expect(answers.filter(({ outcome }) => outcome === "locked")).toEqual([]);
    const now = await session.alone<ClaimedRow>(tokens, { ids: dialect.list(["1", "2"]) });
    const byId = (a: ClaimedRow, b: ClaimedRow) => Number(a.id) - Number(b.id);
    expect(now.sort(byId).map(({ token }) => token)).toEqual(rows.map(({ token }) => token));
  });
});

forEachTarget({ connections: "one", dialect: "mysql" }, ({ dialect }, open) => {
  test.each([0, 3])("33: the same of a column of %d digits", async (digits) => {
    const table = { ...describeTable({ columns: COLUMNS }), custom: events };
    const opened = await openTable(open, dialect, table);
    await opened.query(`ALTER TABLE jobs MODIFY lease DATETIME(${digits})`);
    await opened.query("INSERT INTO jobs (grp, pay) VALUES ('a', 'x')");
    const session = await opened.session();
    const { extend, take, tokens } = leases(dialect, table, digits);
    const values = { ids: dialect.list(["1"]), group: "a", leaseMs: LEASE_MS };
    const rows = await session.alone<ClaimedRow>(take, values);
    expect(await session.alone(tokens, values)).toEqual([{ id: "1", token: rows[0]?.token }]);
    expect(await session.alone(extend, { ...session.held(rows), leaseMs: 60_000 })).toMatchObject([
      { outcome: "extended" },
    ]);
  });
});
