/** The statements of described tables, run as they are on real sessions: two of them where they meet. */
import { describe, expect, test } from "vitest";
import type { ClaimedRow, ClaimSettings } from "../../src/dialect/dialect.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import type { TableDescription } from "../../src/table/description.ts";
import { columnOf, describeTable, type TestColumns } from "../support/described-table.ts";
import { openTable } from "../support/open-table.ts";
import { forEachSource } from "../support/sources.ts";

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

const LEASE_MS = 30_000;
const ONE = { group: "a", after: null, limit: 10, leaseMs: LEASE_MS };

function settings(table: TableDescription, more: Partial<ClaimSettings> = {}) {
  const { payload } = table.roles;
  return {
    columns: payload === undefined ? [] : [payload],
    groups: table.roles.group === undefined ? ("none" as const) : ("one" as const),
    mostRows: 10,
    leaseMs: LEASE_MS,
    ...more,
  };
}

function rowLocks(table: TableDescription, more?: Partial<ClaimSettings>) {
  const statements = postgres.rowLock?.(table, settings(table, more));
  if (statements === undefined) throw new Error("no row locks");
  return statements;
}

function leases(
  table: TableDescription,
  more?: Partial<ClaimSettings> & { leasePrecision?: number },
) {
  const statements = postgres.lease?.(table, settings(table, more));
  if (statements === undefined) throw new Error("no leases");
  return statements;
}

function locks(table: TableDescription, more?: Partial<ClaimSettings>) {
  const statements = postgres.advisoryLock?.(table, settings(table, more));
  if (statements === undefined) throw new Error("no advisory locks");
  return statements;
}

const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
const list = postgres.list;

forEachSource({ connections: "one" }, (_name, open) => {
  describe("14, 15: the order of a claim", () => {
    const SET = `INSERT INTO jobs (id, grp, pay, due, prio) VALUES
      (1, 'a', '1', now() - interval '1 minute', NULL),
      (2, 'a', '2', NULL, NULL),
      (3, 'a', '3', now() - interval '1 minute', 2),
      (4, 'a', '4', now() + interval '1 hour', 1),
      (5, 'a', '5', now() - interval '1 hour', 2),
      (6, 'a', '6', NULL, 2),
      (7, 'b', '7', NULL, 1),
      (8, 'a', '8', NULL, 1),
      (9, 'a', '9', now() - interval '1 hour', 2)`;
    const ORDER = ["8", "6", "5", "9", "3", "2", "1"];

    test.for([
      ["row locks", describeTable({ columns: { ...BASE, ...PRIORITY } })],
      ["row locks, marked", describeTable({ columns: { ...BASE, ...PRIORITY, ...DONE } })],
      ["leases", describeTable({ columns: { ...BASE, ...PRIORITY, ...LEASE } })],
      [
        "advisory locks",
        describeTable({ columns: { ...BASE, ...PRIORITY }, lockKey: ["j-", "id"] }),
      ],
    ] as const)(
      "%s: priority, due and id; null priority last, null due first",
      async ([, table]) => {
        const opened = await openTable(open, postgres, table);
        await opened.query(SET);
        const session = await opened.session();
        const { claim } = statementsOf(table);
        const rows = await session.alone<ClaimedRow>(claim, ONE);
        expect(ids(rows)).toEqual(ORDER);
        expect(rows.map(({ c0 }) => c0)).toEqual(ORDER);
        expect(rows[0]).toMatchObject({
          group: "a",
          attempt: table.form === "rowLock" ? "1" : "2",
        });
      },
    );

    test("a table of an id alone is claimed by its id", async () => {
      const table = describeTable({ columns: { id: ["bigint", "id"], pay: ["text", "payload"] } });
      const opened = await openTable(open, postgres, table);
      await opened.query("INSERT INTO jobs (id, pay) VALUES (3, 'c'), (1, 'a'), (2, 'b')");
      const session = await opened.session();
      const rows = await session.alone<ClaimedRow>(rowLocks(table).claim, { limit: 2 });
      expect(rows).toEqual([
        { id: "1", token: null, attempt: null, group: null, key: null, c0: "a" },
        { id: "2", token: null, attempt: null, group: null, key: null, c0: "b" },
      ]);
    });

    test("more rows than any chunk of a range", async () => {
      const table = describeTable({ columns: BASE });
      const opened = await openTable(open, postgres, table);
      await opened.query(
        "INSERT INTO jobs (grp, pay, due) SELECT 'a', n::text, CASE WHEN n % 2 = 0 THEN now() - interval '1 s' END FROM generate_series(1, 25) n",
      );
      const session = await opened.session();
      const { claim } = rowLocks(table, { mostRows: 100 });
      const rows = await session.alone<ClaimedRow>(claim, { ...ONE, limit: 100 });
      const odd = Array.from({ length: 13 }, (_, n) => String(2 * n + 1));
      const even = Array.from({ length: 12 }, (_, n) => String(2 * n + 2));
      expect(ids(rows)).toEqual([...odd, ...even]);
    });
  });

  describe("4, 20, 71: values cross as they are", () => {
    const table = describeTable({
      columns: {
        id: ["bigint", "id"],
        small: "smallint",
        whole: "integer",
        big: "bigint",
        words: "text",
        raw: "bytes",
        json: "json",
        flag: "boolean",
        moment: "timestamp",
        uuid: "uuid",
        decimal: "decimal",
        custom: "custom",
      },
    });
    const bytes = Buffer.from([0, 255, 254, 10, 92, 39, 0]);
    const VALUES: readonly Readonly<Record<string, unknown>>[] = [
      {
        id: 9007199254740993n,
        small: -32768,
        whole: 2147483647,
        big: 9223372036854775807n,
        words: `it's "{\\x,}" ünï $1 -- ;`,
        raw: bytes,
        json: "a string",
        flag: true,
        moment: new Date("2026-02-03T04:05:06.789Z"),
        uuid: "0190f5d8-1111-7222-8333-444455556666",
        decimal: "12345678901234567890.000000000012345678900",
        custom: "own",
      },
      {
        id: -9223372036854775808n,
        small: 0,
        whole: -2147483648,
        big: -9223372036854775808n,
        words: "",
        raw: Buffer.alloc(0),
        json: [1, null, { a: "\u2028" }],
        flag: false,
        moment: new Date("0044-03-15T12:00:00.001Z"),
        uuid: "ffffffff-ffff-ffff-ffff-ffffffffffff",
        decimal: "-0.1",
        custom: "null",
      },
      { id: 3n, json: 12.5, moment: new Date("9999-12-31T23:59:59.999Z"), decimal: "1e3" },
      { id: 4n, json: true, moment: new Date("+012345-01-02T03:04:05.678Z") },
      { id: 5n, json: null, moment: new Date("-000043-03-15T12:00:00.999Z") },
      { id: 6n, json: { "": {} }, moment: new Date(-1) },
    ];

    test("written by one statement, answered in order, and read again, whatever the session's settings", async () => {
      const opened = await openTable(open, postgres, table);
      const session = await opened.session();
      for (const set of [
        "DateStyle = 'SQL, DMY'",
        "TimeZone = 'America/St_Johns'",
        "IntervalStyle = 'iso_8601'",
      ]) {
        await session.connection.query(`SET ${set}`);
      }
      const { columns } = table;
      const params = Object.fromEntries(
        VALUES.flatMap((row, r) =>
          columns.map((column, c) => {
            const value = row[column.name];
            const isNull = value === undefined || (value === null && column.type !== "json");
            return [`r${r}c${c}`, isNull ? null : postgres.types[column.type].encode(value)];
          }),
        ),
      );
      const answered = await session.run<{ id: string }>(
        postgres.insert(table, columns, VALUES.length),
        params,
      );
      expect(answered.map(({ id }) => postgres.types.bigint.decode(id))).toEqual(
        VALUES.map(({ id }) => id),
      );
      await session.begin();
      const rows = await session.run<ClaimedRow>(rowLocks(table, { columns }).claim, { limit: 10 });
      await session.rollback();
      for (const set of ["DateStyle", "TimeZone", "IntervalStyle"])
        await session.connection.query(`RESET ${set}`);
      const read = new Map(
        rows.map((row) => [
          row.id,
          Object.fromEntries(
            columns.map((column, c) => {
              const raw = row[`c${c}`];
              return [
                column.name,
                raw === null ? undefined : postgres.types[column.type].decode(raw),
              ];
            }),
          ),
        ]),
      );
      for (const row of VALUES) {
        const found = read.get(String(row.id));
        const decimal = row.decimal === "1e3" ? { decimal: "1000" } : {};
        expect(found).toEqual({
          ...Object.fromEntries(columns.map(({ name }) => [name, undefined])),
          ...row,
          ...decimal,
        });
      }
      const { rows: stored } = await opened.query<{ kind: string }>(
        "SELECT jsonb_typeof(json) AS kind FROM jobs ORDER BY id",
      );
      expect(stored.map(({ kind }) => kind)).toEqual([
        "array",
        "number",
        "boolean",
        "null",
        "object",
        "string",
      ]);
    });

    test("what is left out is the database's to fill, and a row may give nothing at all", async () => {
      const opened = await openTable(open, postgres, table);
      const session = await opened.session();
      const answered = await session.run<{ id: string }>(postgres.insert(table, [], 3));
      expect(ids(answered)).toEqual(["1", "2", "3"]);
    });

    test("a due time is given in milliseconds from the database's now", async () => {
      const jobs = describeTable({ columns: BASE });
      const opened = await openTable(open, postgres, jobs);
      const session = await opened.session();
      const columns = [columnOf(jobs, "grp"), columnOf(jobs, "due"), columnOf(jobs, "pay")];
      await session.run(postgres.insert(jobs, columns, 2, { dueInMs: true }), {
        r0c0: "a",
        r0c1: 60_000,
        r0c2: "x",
        r1c0: "a",
        r1c1: null,
        r1c2: "y",
      });
      const { rows } = await opened.query(
        `SELECT pay, due > now() + interval '50 s' AND due < now() + interval '61 s' AS soon FROM jobs ORDER BY id`,
      );
      expect(rows).toEqual([
        { pay: "x", soon: true },
        { pay: "y", soon: null },
      ]);
    });

    test("an infinite time does not decode, and says so", () => {
      expect(() => postgres.types.timestamp.decode("Infinity")).toThrow(
        "a Date cannot hold this time",
      );
      expect(() => postgres.types.timestamp.decode("-Infinity")).toThrow(RangeError);
    });

    test.for([
      ["smallint", 32768],
      ["smallint", 1.5],
      ["integer", "1"],
      ["bigint", 2n ** 63n],
      ["bigint", 2 ** 53],
      ["text", 1],
      ["bytes", "text"],
      ["json", undefined],
      ["boolean", 1],
      ["timestamp", new Date(Number.NaN)],
      ["uuid", "not one"],
      ["decimal", "12,5"],
      ["decimal", Number.NaN],
    ] as const)("a %s is not %s", ([type, value]) => {
      expect(() => postgres.types[type].encode(value)).toThrow(TypeError);
    });
  });

  describe("lists of ids", () => {
    const TEXTS = [
      "a,b",
      "{c}",
      'd"e',
      "f\\g",
      "NULL",
      "null",
      "",
      " h ",
      "i'j",
      "ü",
      "k\nl",
      "\\x41",
    ];

    test("text ids of any spelling are claimed, and settled one and all", async () => {
      const table = describeTable({
        columns: { id: ["text", "id"], ...LEASE, att: ["smallint", "attempt"] },
      });
      const opened = await openTable(open, postgres, table);
      const session = await opened.session();
      await session.run(
        postgres.insert(table, [columnOf(table, "id")], TEXTS.length),
        Object.fromEntries(TEXTS.map((text, n) => [`r${n}c0`, text])),
      );
      const statements = leases(table, { mostRows: 20 });
      const rows = await session.alone<ClaimedRow>(statements.claim, { ...ONE, limit: 20 });
      expect(new Set(ids(rows))).toEqual(new Set(TEXTS));
      const settled = await session.alone<{ id: string }>(statements.ack, session.held(rows));
      expect(new Set(ids(settled))).toEqual(new Set(TEXTS));
      expect((await opened.query("SELECT 1 FROM jobs")).rows).toEqual([]);
    });

    test.for(["uuid", "smallint"] as const)("ids of type %s", async (type) => {
      const table = describeTable({ columns: { id: [type, "id"] } });
      const opened = await openTable(open, postgres, table);
      const session = await opened.session();
      await session.run(postgres.insert(table, [], 2));
      const rows = await session.alone<ClaimedRow>(rowLocks(table).claim, { limit: 5 });
      expect(rows).toHaveLength(2);
      expect(await session.alone(rowLocks(table).ack, session.held(rows))).toHaveLength(2);
    });
  });

  describe("names", () => {
    test("6: spaces, quotes, backslashes and capitals, in a schema of its own", async () => {
      const table = describeTable({
        name: 'the "Jobs"\\',
        schema: "my 'App'",
        columns: {
          'the "Id"': ["bigint", "id"],
          "Group's": ["text", "group"],
          "due $1": ["timestamp", "retryAfter"],
          "Lease?": ["timestamp", "lockedUntil"],
          "att-empt": ["integer", "attempt"],
          "done\\": ["timestamp", "processedAt"],
          select: ["json", "payload"],
        },
        fifo: "fifo",
      });
      const opened = await open();
      await opened.query(`CREATE SCHEMA "my 'App'"`);
      for (const statement of postgres.ddl(table, { listenNotify: true }))
        await opened.query(statement);
      // All of it can run again.
      for (const statement of postgres.ddl(table, { listenNotify: true }))
        await opened.query(statement);
      for (const { present } of postgres.inspection.indexes(table)) {
        expect((await opened.query(present.text)).rows).toEqual([{ present: true }]);
      }
      const connection = await opened.source.connect();
      try {
        const columns = [columnOf(table, "Group's"), columnOf(table, "select")];
        const insert = postgres.insert(table, columns, 1);
        await connection.query(insert.text, ["a", '{"a":1}']);
        const statements = leases(table);
        const claim = { ...ONE, ...statements.claim };
        const { rows } = await connection.query<ClaimedRow>(
          statements.claim.text,
          claim.params.map((param) => ({ group: "a", limit: 1, leaseMs: 1000 })[param]),
        );
        expect(rows).toMatchObject([{ id: "1", c0: '{"a": 1}' }]);
      } finally {
        await connection.release();
      }
    });
  });

  describe("22, 23: what a start looks at", () => {
    test("columns, with their types, nullability and precision; none for a table that is not there", async () => {
      const table = describeTable({ columns: { id: ["bigint", "id"] } });
      const opened = await open();
      const { columns } = postgres.inspection;
      expect((await opened.query(columns(table).text)).rows).toEqual([]);
      await opened.query(
        `CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY, a text NOT NULL DEFAULT '', b timestamptz(3),
          c timestamp, d numeric(10,2), e bigint GENERATED ALWAYS AS (1) STORED, f int GENERATED BY DEFAULT AS IDENTITY)`,
      );
      expect((await opened.query(columns(table).text)).rows).toEqual([
        { name: "id", type: "bigint", nullable: false, generated: "always", precision: null },
        { name: "a", type: "text", nullable: false, generated: "byDefault", precision: null },
        {
          name: "b",
          type: "timestamp(3) with time zone",
          nullable: true,
          generated: "never",
          precision: 3,
        },
        {
          name: "c",
          type: "timestamp without time zone",
          nullable: true,
          generated: "never",
          precision: 6,
        },
        { name: "d", type: "numeric(10,2)", nullable: true, generated: "never", precision: null },
        { name: "e", type: "bigint", nullable: true, generated: "always", precision: null },
        { name: "f", type: "integer", nullable: false, generated: "byDefault", precision: null },
      ]);
    });

    test("an index is there when it begins with the claim's order", async () => {
      const table = describeTable({ columns: { ...BASE, ...DONE } });
      const opened = await open();
      const { columns } = table;
      await opened.query(
        `CREATE TABLE jobs (${columns.map(({ name, type }) => `${name} ${postgres.types[type].ddl}`).join(", ")})`,
      );
      const [advice] = postgres.inspection.indexes(table);
      if (advice === undefined) throw new Error("no advice");
      const present = async () =>
        (await opened.query<{ present: boolean }>(advice.present.text)).rows[0]?.present;
      expect(await present()).toBe(false);
      for (const [index, does] of [
        ["(grp, due, id)", true],
        ["(grp, due, id, pay)", true],
        ["(grp, due, id) WHERE done IS NULL", true],
        ["(grp, due, id) WHERE done IS NOT NULL", false],
        ["(grp, due DESC, id)", false],
        ["(grp, due)", false],
        ["(due, grp, id)", false],
      ] as const) {
        await opened.query(`CREATE INDEX tried ON jobs ${index}`);
        expect(await present(), index).toBe(does);
        await opened.query("DROP INDEX tried");
      }
      await opened.query(advice.ddl);
      expect(await present()).toBe(true);
    });

    test("a statement is parsed and planned without being run", async () => {
      const table = describeTable({ columns: { ...BASE, ...LEASE } });
      const opened = await openTable(open, postgres, table);
      const session = await opened.session();
      const every = Object.values(leases(table, { deadLetter: {} }));
      for (const statement of every) {
        for (const text of postgres.inspection.prepare?.(statement) ?? [])
          await session.connection.query(text);
      }
      const [broken = ""] =
        postgres.inspection.prepare?.({ text: "SELECT nothing FROM nowhere", params: [] }) ?? [];
      await expect(session.connection.query(broken)).rejects.toThrow("nowhere");
    });

    test("the server's version is a number that can be compared", async () => {
      const opened = await open();
      const { oldestVersion, version } = postgres.inspection;
      const { rows } = await opened.query<{ version: number; label: string }>(version.text);
      expect(rows[0]?.version).toBeGreaterThanOrEqual(oldestVersion.version);
      expect(rows[0]?.label).toMatch(/^\d/);
    });
  });

  describe("settlements", () => {
    test.for([
      ["deletes", describeTable({ columns: BASE })],
      ["marks", describeTable({ columns: { ...BASE, ...DONE } })],
    ] as const)(
      "26: row locks: an ack %s, a retry counts, a delay counts and waits",
      async ([what, table]) => {
        const opened = await openTable(open, postgres, table);
        await opened.query(
          "INSERT INTO jobs (grp, pay) SELECT 'a', n FROM generate_series(1, 4) n",
        );
        const session = await opened.session();
        const statements = rowLocks(table);
        await session.begin("readCommitted");
        expect(await session.run(statements.claim, ONE)).toHaveLength(4);
        expect(await session.run(statements.ack, { ids: list(["1"]) })).toEqual([{ id: "1" }]);
        expect(await session.run(statements.retry, { ids: list(["2"]) })).toEqual([{ id: "2" }]);
        const delayed = await session.run(statements.retryAfter, {
          ids: list(["4", "3"]),
          delaysMs: list([60_000, 0]),
        });
        expect(delayed).toHaveLength(2);
        await session.commit();
        const done = what === "marks" ? "done IS NOT NULL" : "NULL::boolean";
        const { rows } = await opened.query(
          `SELECT id::int, att, due > now() + interval '59 s' AS later, ${done} AS done FROM jobs ORDER BY id`,
        );
        const open_ = what === "marks" ? false : null;
        expect(rows).toEqual([
          ...(what === "marks" ? [{ id: 1, att: 1, later: null, done: true }] : []),
          { id: 2, att: 2, later: null, done: open_ },
          { id: 3, att: 2, later: false, done: open_ },
          { id: 4, att: 2, later: true, done: open_ },
        ]);
        expect(ids(await session.alone<ClaimedRow>(statements.claim, ONE))).toEqual(["2", "3"]);
      },
    );

    test("26: without an attempt a retry is no statement; without a due column there is no delay", () => {
      const table = describeTable({ columns: { id: ["bigint", "id"] } });
      expect(rowLocks(table)).not.toHaveProperty("retry");
      expect(rowLocks(table)).not.toHaveProperty("retryAfter");
      expect(locks(describeTable({ columns: BASE, lockKey: ["x"] }))).not.toHaveProperty("retry");
    });

    test("36: leases: an ack, a retry, a delay and a release, each only while the row is ours", async () => {
      const table = describeTable({ columns: { ...BASE, ...LEASE } });
      const opened = await openTable(open, postgres, table);
      await opened.query("INSERT INTO jobs (grp, pay) SELECT 'a', n FROM generate_series(1, 4) n");
      const session = await opened.session();
      const statements = leases(table);
      const rows = await session.alone<ClaimedRow>(statements.claim, ONE);
      expect(rows.map(({ attempt }) => attempt)).toEqual(["2", "2", "2", "2"]);
      expect(await session.alone(statements.claim, ONE)).toEqual([]);
      const held = (at: number, change: Partial<ClaimedRow> = {}) =>
        session.held(rows.slice(at, at + 1).map((row) => ({ ...row, ...change })));
      for (const name of ["ack", "retry", "retryAfter", "release"] as const) {
        for (const change of [
          { token: "2026-01-01T00:00:00.000000Z" },
          { attempt: "1" },
          { attempt: "3" },
        ]) {
          expect(
            await session.alone(statements[name], { ...held(0, change), delaysMs: list([5]) }),
            name,
          ).toEqual([]);
        }
      }
      expect(await session.alone(statements.ack, held(0))).toEqual([{ id: "1" }]);
      expect(await session.alone(statements.retry, held(1))).toEqual([{ id: "2" }]);
      expect(
        await session.alone(statements.retryAfter, { ...held(2), delaysMs: list([60_000]) }),
      ).toEqual([{ id: "3" }]);
      expect(await session.alone(statements.release, held(3))).toEqual([{ id: "4" }]);
      const found = await opened.query(
        "SELECT id::int, att, lease, due IS NOT NULL AS later FROM jobs ORDER BY id",
      );
      expect(found.rows).toEqual([
        { id: 2, att: 2, lease: null, later: false },
        { id: 3, att: 2, lease: null, later: true },
        { id: 4, att: 1, lease: null, later: false },
      ]);
      // 32: what was settled is nobody's any more.
      expect(await session.alone(statements.ack, session.held(rows))).toEqual([]);
    });

    test("32: an acknowledgement of all rows, or of none", async () => {
      const table = describeTable({ columns: { ...BASE, ...LEASE, ...DONE } });
      const opened = await openTable(open, postgres, table);
      await opened.query("INSERT INTO jobs (grp, pay) VALUES ('a', 'x'), ('a', 'y')");
      const session = await opened.session();
      const statements = leases(table);
      const rows = await session.alone<ClaimedRow>(statements.claim, ONE);
      await opened.query("UPDATE jobs SET lease = lease + interval '1 microsecond' WHERE id = 2");
      for (const statement of [statements.ackOrFail, statements.lockOrFail]) {
        const failed = await session
          .alone(statement, session.held(rows))
          .catch((error: unknown) => error);
        expect(postgres.errors.isClaimLost(failed)).toBe(true);
        expect(postgres.errors.isTransient(failed)).toBe(false);
      }
      expect((await opened.query("SELECT 1 FROM jobs WHERE done IS NOT NULL")).rows).toEqual([]);
      await session.alone(statements.lockOrFail, session.held(rows.slice(0, 1)));
      await session.alone(statements.ackOrFail, session.held(rows.slice(0, 1)));
      expect(
        (await opened.query("SELECT id::int FROM jobs WHERE done IS NOT NULL AND lease IS NULL"))
          .rows,
      ).toEqual([{ id: 1 }]);
    });

    test("33: an extension answers the new token, and tells the lost from the extended", async () => {
      const table = describeTable({ columns: { ...BASE, ...LEASE } });
      const opened = await openTable(open, postgres, table);
      await opened.query("INSERT INTO jobs (grp, pay) VALUES ('a', 'x'), ('a', 'y'), ('a', 'z')");
      const session = await opened.session();
      const statements = leases(table);
      const rows = await session.alone<ClaimedRow>(statements.claim, ONE);
      await opened.query("UPDATE jobs SET lease = now() - interval '1 s' WHERE id = 2");
      await opened.query("DELETE FROM jobs WHERE id = 3");
      const answers = await session.alone<{ id: string; outcome: string; token: string | null }>(
        statements.extend,
        { ...session.held(rows), leaseMs: 60_000 },
      );
      const first = answers.find(({ id }) => id === "1");
      expect(answers.map(({ id, outcome }) => `${id} ${outcome}`).sort()).toEqual([
        "1 extended",
        "2 lost",
        "3 lost",
      ]);
      expect(await session.alone(statements.ack, session.held(rows))).toEqual([]);
      const extended = rows.slice(0, 1).map((row) => ({ ...row, token: first?.token ?? null }));
      expect(await session.alone(statements.ack, session.held(extended))).toEqual([{ id: "1" }]);
    });

    test.for([0, 3])(
      "31: a column of %s digits holds a lease rounded up, and its token is exact",
      async (digits) => {
        const table = describeTable({ columns: { ...BASE, ...LEASE } });
        const opened = await openTable(open, postgres, table);
        await opened.query(`ALTER TABLE jobs ALTER lease TYPE timestamptz(${digits})`);
        await opened.query("INSERT INTO jobs (grp, pay) VALUES ('a', 'x')");
        const session = await opened.session();
        const statements = leases(table, { leasePrecision: digits });
        for (let round = 0; round < 5; round += 1) {
          await session.begin("readCommitted");
          const rows = await session.run<ClaimedRow>(statements.claim, { ...ONE, leaseMs: 1000 });
          const [kept] = await session.run<{ ms: string }>({
            text: "SELECT extract(epoch FROM lease - now())::float8 * 1000 AS ms FROM jobs",
            params: [],
          });
          await session.commit();
          expect(Number(kept?.ms)).toBeGreaterThanOrEqual(1000);
          expect(await session.alone(statements.retry, session.held(rows))).toEqual([{ id: "1" }]);
        }
      },
    );

    test("37: the service's clock decides what is due, and until when a row is held", async () => {
      const table = describeTable({ columns: { ...BASE, ...LEASE }, clock: "system" });
      const opened = await openTable(open, postgres, table);
      await opened.query(
        "INSERT INTO jobs (grp, pay, due) VALUES ('a', 'x', '2030-01-01T00:00:00Z')",
      );
      const session = await opened.session();
      const statements = leases(table);
      expect(statements.claim.params).toContain("now");
      expect(
        await session.alone(statements.claim, { ...ONE, now: "2029-12-31T23:59:59.999Z" }),
      ).toEqual([]);
      const rows = await session.alone<ClaimedRow>(statements.claim, {
        ...ONE,
        now: "2030-01-01T00:00:00.000Z",
      });
      expect(rows).toMatchObject([{ id: "1", token: "2030-01-01T00:00:30.000000Z" }]);
      expect(
        await session.alone(statements.claim, { ...ONE, now: "2030-01-01T00:00:29.999Z" }),
      ).toEqual([]);
      expect(
        await session.alone(statements.claim, { ...ONE, now: "2030-01-01T00:00:30.000Z" }),
      ).toHaveLength(1);
      for (const statement of Object.values(
        leases(describeTable({ columns: { ...BASE, ...LEASE } })),
      )) {
        expect(statement.params).not.toContain("now");
      }
    });

    test("a column of attempts that is full stays so, and stops nobody", async () => {
      const table = describeTable({ columns: { ...BASE, ...LEASE, att: ["smallint", "attempt"] } });
      const opened = await openTable(open, postgres, table);
      await opened.query(
        "INSERT INTO jobs (grp, pay, att) VALUES ('a', 'x', 32767), ('a', 'y', 1)",
      );
      const session = await opened.session();
      const rows = await session.alone<ClaimedRow>(leases(table).claim, ONE);
      expect(rows.map(({ attempt }) => attempt)).toEqual(["32767", "2"]);
    });
  });

  describe("53: dead letters", () => {
    const forms = {
      "row locks": { columns: { ...BASE, ...DONE, why: "text" } },
      leases: { columns: { ...BASE, ...DONE, ...LEASE, why: "text" } },
    } as const;

    test.for(Object.entries(forms))(
      "%s: to another group, the attempt anew, due at once, held by nobody",
      async ([, given]) => {
        const table = describeTable({ ...given, attemptFrom: 0 });
        const opened = await openTable(open, postgres, table);
        await opened.query(
          "INSERT INTO jobs (grp, pay, att, due) VALUES ('a', 'x', 7, now()), ('a', 'y', 8, now())",
        );
        const session = await opened.session();
        const { claim, deadLetter } = statementsOf(table, {
          deadLetter: { reason: columnOf(table, "why") },
        });
        await session.begin("readCommitted");
        const rows = await session.run<ClaimedRow>(claim, ONE);
        const moved = await session.run<{ id: string }>(deadLetter, {
          ...session.held(rows),
          reasons: list(['it\'s "so", {bad}', null]),
          group: "dead",
        });
        await session.commit();
        expect(ids(moved).sort()).toEqual(["1", "2"]);
        const lease = table.form === "lease" ? "lease" : "NULL";
        const found = await opened.query(
          `SELECT grp, att, due, done, ${lease} AS lease, why, pay FROM jobs ORDER BY id`,
        );
        const anew = { grp: "dead", att: 0, due: null, done: null, lease: null };
        expect(found.rows).toEqual([
          { ...anew, why: 'it\'s "so", {bad}', pay: "x" },
          { ...anew, why: null, pay: "y" },
        ]);
      },
    );

    test.for(Object.entries(forms))(
      "%s: to another table, in one statement, all columns or nothing",
      async ([, given]) => {
        const table = describeTable(given);
        const graves = describeTable({
          name: "graves",
          columns: {
            id: ["bigint", "id"],
            pay: "text",
            old: "integer",
            at: ["timestamp", "retryAfter"],
            q: ["text", "group"],
            tries: ["integer", "attempt"],
            reason: "text",
          },
          attemptFrom: 0,
          notNull: ["at"],
        });
        const opened = await openTable(open, postgres, table, { also: [graves] });
        await opened.query(
          "INSERT INTO jobs (id, grp, pay, att) VALUES (7, 'a', 'x', 5), (8, 'a', 'y', 1)",
        );
        const session = await opened.session();
        const pair = (from: string, to: string) =>
          [columnOf(table, from), columnOf(graves, to)] as const;
        const { claim, deadLetter } = statementsOf(table, {
          deadLetter: {
            table: graves,
            reason: columnOf(graves, "reason"),
            copied: [pair("id", "id"), pair("pay", "pay"), pair("att", "old"), pair("due", "at")],
          },
        });
        await session.begin("readCommitted");
        const rows = await session.run<ClaimedRow>(claim, ONE);
        const given_ = { ...session.held(rows.slice(0, 1)), reasons: list(["why"]), group: "g" };
        expect(await session.run(deadLetter, given_)).toEqual([{ id: "7" }]);
        expect(await session.run(deadLetter, given_)).toEqual([]);
        await session.commit();
        const old = table.form === "lease" ? 6 : 5;
        expect(
          (
            await opened.query(
              "SELECT id::int, pay, old, q, tries, reason, at <= now() AS due FROM graves",
            )
          ).rows,
        ).toEqual([{ id: 7, pay: "x", old, q: "g", tries: 0, reason: "why", due: true }]);
        expect((await opened.query("SELECT id::int FROM jobs")).rows).toEqual([{ id: 8 }]);
      },
    );
  });

  describe("73: notifications", () => {
    test("6, 73: the channel is the qualified name, and refused where it is too long", () => {
      const short = describeTable({ schema: "app", columns: { id: ["bigint", "id"] } });
      expect(postgres.channel?.(short)).toBe("app.jobs");
      const long = describeTable({
        schema: "ü".repeat(20),
        name: "é".repeat(12),
        columns: { id: ["bigint", "id"] },
      });
      expect(() => postgres.channel?.(long)).toThrow('éé" has 65 bytes');
    });
  });

  function statementsOf(table: TableDescription, more?: Partial<ClaimSettings>) {
    if (table.form === "lease") return leases(table, more);
    return table.form === "rowLock" ? rowLocks(table, more) : locks(table, more);
  }
});

forEachSource({ connections: "many" }, (_name, open) => {
  test("25: what one session has claimed, another passes over; a rollback gives it back", async () => {
    const table = describeTable({ columns: BASE });
    const opened = await openTable(open, postgres, table);
    await opened.query("INSERT INTO jobs (grp, pay) SELECT 'a', n FROM generate_series(1, 30) n");
    const [a, b] = [await opened.session(), await opened.session()];
    const { claim } = rowLocks(table, { mostRows: 20 });
    await a.begin();
    await b.begin();
    expect(await a.run(claim, { ...ONE, limit: 20 })).toHaveLength(20);
    expect(ids(await b.run<ClaimedRow>(claim, { ...ONE, limit: 3 }))).toEqual(["21", "22", "23"]);
    await a.rollback();
    expect(ids(await b.run<ClaimedRow>(claim, { ...ONE, limit: 2 }))).toEqual(["1", "2"]);
  });

  test("the short statements work under a session default of serializable", async () => {
    const table = describeTable({ columns: { ...BASE, ...LEASE } });
    const opened = await openTable(open, postgres, table);
    await opened.query("INSERT INTO jobs (grp, pay) SELECT 'a', n FROM generate_series(1, 40) n");
    const sessions = [await opened.session(), await opened.session(), await opened.session()];
    const statements = leases(table);
    const claimed = await Promise.all(
      sessions.map(async (session) => {
        await session.connection.query("SET default_transaction_isolation = serializable");
        const rows: ClaimedRow[] = [];
        for (let round = 0; round < 4; round += 1) {
          rows.push(...(await session.alone<ClaimedRow>(statements.claim, { ...ONE, limit: 3 })));
        }
        await session.alone(statements.ack, session.held(rows));
        await session.connection.query("RESET default_transaction_isolation");
        return ids(rows);
      }),
    );
    const all = claimed.flat();
    expect(all).toHaveLength(36);
    expect(new Set(all).size).toBe(36);
  });

  test("33: an extension passes a row that its settlement has locked, and waits for nobody", async () => {
    const table = describeTable({ columns: { ...BASE, ...LEASE } });
    const opened = await openTable(open, postgres, table);
    await opened.query("INSERT INTO jobs (grp, pay) VALUES ('a', 'x'), ('a', 'y')");
    const [a, b] = [await opened.session(), await opened.session()];
    const statements = leases(table);
    const rows = await a.alone<ClaimedRow>(statements.claim, ONE);
    await a.begin("repeatableRead");
    await a.run(statements.lockOrFail, a.held(rows.slice(0, 1)));
    const answers = await b.alone<{ id: string; outcome: string }>(statements.extend, {
      ...b.held(rows),
      leaseMs: 1000,
    });
    expect(answers.map(({ id, outcome }) => `${id} ${outcome}`).sort()).toEqual([
      "1 locked",
      "2 extended",
    ]);
    expect(await b.alone(statements.release, b.held(rows.slice(0, 1)))).toEqual([]);
    // 62: the lease may run out meanwhile: the row is locked, and so it stays ours.
    await a.run(statements.ackOrFail, a.held(rows.slice(0, 1)));
    await a.commit();
    expect((await opened.query("SELECT id::int FROM jobs")).rows).toEqual([{ id: 2 }]);
  });

  test("65: a row says what became of it", async () => {
    const table = describeTable({ columns: { ...BASE, ...LEASE, ...DONE } });
    const opened = await openTable(open, postgres, table);
    await opened.query("INSERT INTO jobs (grp, pay) SELECT 'a', n FROM generate_series(1, 6) n");
    const [a, b] = [await opened.session(), await opened.session()];
    const statements = leases(table);
    const rows = await a.alone<ClaimedRow>(statements.claim, ONE);
    const at = (n: number) => a.held(rows.slice(n, n + 1));
    await a.alone(statements.ack, at(1));
    await a.alone(statements.retry, at(2));
    await a.alone(statements.claim, { ...ONE, limit: 1 });
    await opened.query("DELETE FROM jobs WHERE id = 4");
    await a.alone(statements.retry, at(4));
    await a.begin();
    await a.run(statements.ack, at(5));
    const answers = await b.alone<{ id: string; outcome: string }>(
      statements.readBack,
      b.held(rows),
    );
    expect(answers.map(({ id, outcome }) => `${id} ${outcome}`).sort()).toEqual([
      "1 ours",
      "2 settled",
      "3 taken",
      "4 gone",
      "5 other",
      "6 locked",
    ]);
  });

  describe("45, 46: fifo groups", () => {
    test.for(["fifo", "strict"] as const)(
      "row locks, %s: one row of a group in work, also when an earlier one commits late",
      async (fifo) => {
        const table = describeTable({ columns: { ...BASE, ...PRIORITY }, fifo });
        const opened = await openTable(open, postgres, table);
        await opened.query("INSERT INTO jobs (id, grp, pay) VALUES (10, 'a', 'x'), (11, 'a', 'y')");
        const [writer, a, b] = [
          await opened.session(),
          await opened.session(),
          await opened.session(),
        ];
        await writer.begin();
        await writer.connection.query("INSERT INTO jobs (id, grp, pay) VALUES (1, 'a', 'early')");
        const { ack, claim } = rowLocks(table);
        await a.begin("readCommitted");
        expect(ids(await a.run<ClaimedRow>(claim, ONE))).toEqual(["10"]);
        await writer.commit();
        await b.begin("readCommitted");
        expect(await b.run(claim, ONE)).toEqual([]);
        await b.rollback();
        await a.run(ack, { ids: list(["10"]) });
        await a.commit();
        await b.begin("readCommitted");
        const rows = await b.run<ClaimedRow>(claim, ONE);
        expect(rows).toMatchObject([{ id: "1", key: "a", group: "a" }]);
        await b.rollback();
        await a.begin("readCommitted");
        expect(ids(await a.run<ClaimedRow>(claim, ONE))).toEqual(["1"]);
      },
    );

    test.for(["row locks", "leases"])(
      "%s: a head that is not due holds the rows behind it",
      async (form) => {
        const columns = { ...BASE, ...PRIORITY, ...(form === "leases" ? LEASE : {}) };
        for (const [fifo, expected] of [
          ["fifo", ["2"]],
          ["strict", []],
        ] as const) {
          const table = describeTable({ columns, fifo });
          const opened = await openTable(open, postgres, table);
          await opened.query(
            "INSERT INTO jobs (grp, pay, due) VALUES ('a', 'x', now() + interval '1 h'), ('a', 'y', now())",
          );
          const session = await opened.session();
          const claim = form === "leases" ? leases(table).claim : rowLocks(table).claim;
          // Without priorities a later due time moves a row behind, but for the strict order.
          expect(ids(await session.alone<ClaimedRow>(claim, ONE)), fifo).toEqual(expected);
          await opened.query(
            "UPDATE jobs SET prio = id, lease = NULL".replace(
              form === "leases" ? "" : ", lease = NULL",
              "",
            ),
          );
          expect(await session.alone(claim, ONE), fifo).toEqual([]);
        }
      },
    );

    test("47: every group at once: one row of each, the oldest first, and no group that is in work", async () => {
      const columns = { ...BASE, ...LEASE };
      const sorted =
        "INSERT INTO jobs (id, grp, pay) VALUES (1, 'z', ''), (2, 'b', ''), (3, 'z', ''), (4, 'a', ''), (5, 'b', '')";
      for (const table of [
        describeTable({ columns: BASE, fifo: "fifo" }),
        describeTable({ columns, fifo: "fifo" }),
      ]) {
        const opened = await openTable(open, postgres, table);
        await opened.query(sorted);
        const [a, b] = [await opened.session(), await opened.session()];
        const { claim } =
          table.form === "lease"
            ? leases(table, { groups: "every" })
            : rowLocks(table, { groups: "every" });
        if (table.form === "rowLock") await a.begin("readCommitted");
        const first = await (table.form === "lease"
          ? a.alone<ClaimedRow>(claim, { ...ONE, limit: 2 })
          : a.run<ClaimedRow>(claim, { ...ONE, limit: 2 }));
        expect(first.map(({ id, key }) => `${id} ${key}`)).toEqual(["1 z", "2 b"]);
        expect(ids(await b.alone<ClaimedRow>(claim, ONE))).toEqual(["4"]);
      }
    });

    test("leases: one row of a group in work, by the second look after a late commit", async () => {
      const table = describeTable({ columns: { ...BASE, ...LEASE }, fifo: "fifo" });
      const opened = await openTable(open, postgres, table);
      await opened.query("INSERT INTO jobs (id, grp, pay) VALUES (10, 'a', 'x')");
      const [a, b] = [await opened.session(), await opened.session()];
      const { claim, lookAgain, release } = leases(table);
      // B's claim sees the early row, and not yet A's claim.
      await a.begin("readCommitted");
      const mine = await a.run<ClaimedRow>(claim, ONE);
      await opened.query("INSERT INTO jobs (id, grp, pay) VALUES (1, 'a', 'early')");
      const theirs = await b.alone<ClaimedRow>(claim, ONE);
      expect([ids(mine), ids(theirs)]).toEqual([["10"], ["1"]]);
      expect(await b.alone(lookAgain, b.held(theirs))).toEqual([]);
      await a.commit();
      expect(await a.alone(lookAgain, a.held(mine))).toEqual([{ id: "10" }]);
      expect(await a.alone(release, a.held(mine))).toEqual([{ id: "10" }]);
      expect(await a.alone(claim, ONE)).toEqual([]);
      expect(await b.alone(lookAgain, b.held(theirs))).toEqual([]);
    });

    test("leases: a row of the group that has run out is taken from its holder, but not from its transaction", async () => {
      const table = describeTable({ columns: { ...BASE, ...LEASE }, fifo: "fifo" });
      const opened = await openTable(open, postgres, table);
      await opened.query("INSERT INTO jobs (id, grp, pay) VALUES (10, 'a', 'x')");
      const [a, b] = [await opened.session(), await opened.session()];
      const statements = leases(table);
      const mine = await a.alone<ClaimedRow>(statements.claim, ONE);
      await a.begin("readCommitted");
      await a.run(statements.lockOrFail, a.held(mine));
      await opened.query("INSERT INTO jobs (id, grp, pay) VALUES (1, 'a', 'early')");
      const past = { ...ONE };
      const later = leases(
        describeTable({ columns: { ...BASE, ...LEASE }, fifo: "fifo", clock: "system" }),
      ).claim;
      const now = new Date(Date.now() + 2 * LEASE_MS).toISOString();
      // By this clock the lease is over; but the row is locked.
      expect(await b.alone(later, { ...past, now })).toEqual([]);
      await a.rollback();
      expect(ids(await b.alone<ClaimedRow>(later, { ...past, now }))).toEqual(["1"]);
      expect(await a.alone(statements.ack, a.held(mine))).toEqual([]);
      expect((await opened.query("SELECT lease, att FROM jobs WHERE id = 10")).rows).toEqual([
        { lease: null, att: 2 },
      ]);
    });
  });

  describe("38, 39, 43: advisory locks", () => {
    const held =
      "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

    test.for([
      ["counted", BASE],
      ["not counted", { ...BASE, att: "integer" }],
    ] as const)(
      "a session takes one row a key, others pass it over, and each key is unlocked once (%s)",
      async ([, columns]) => {
        const table = describeTable({ columns, lockKey: ["k-", "pay"], generated: ["id"] });
        const opened = await openTable(open, postgres, table);
        await opened.query(
          `INSERT INTO jobs (grp, pay, att) SELECT 'a', CASE WHEN n <= 300 THEN 'hot' ELSE n::text END, 1 FROM generate_series(1, 303) n`,
        );
        const [a, b] = [await opened.session(), await opened.session()];
        const { claim, unlock } = locks(table);
        const mine = await a.alone<ClaimedRow & { lock: string }>(claim, { ...ONE, limit: 2 });
        expect(mine.map(({ id, key }) => `${id} ${key}`)).toEqual(["1 k-hot", "301 k-301"]);
        const again = await a.alone<ClaimedRow>(claim, { ...ONE, limit: 1 });
        expect(ids(again)).toEqual(["302"]);
        const theirs = await b.alone<ClaimedRow>(claim, ONE);
        expect(ids(theirs)).toEqual(["303"]);
        expect((await opened.query(held)).rows).toEqual([{ n: 4 }]);
        for (const { lock } of mine) {
          expect(await a.run(unlock, { lock })).toEqual([{ released: true }]);
          await a.run(unlock, { lock }).then((rows) => expect(rows).toEqual([{ released: false }]));
        }
        expect((await opened.query(held)).rows).toEqual([{ n: 2 }]);
        await a.connection.query("SELECT pg_advisory_unlock_all()");
        await b.connection.query("SELECT pg_advisory_unlock_all()");
      },
    );

    test("a row that is locked by somebody is passed over, and its key is given back", async () => {
      const table = describeTable({ columns: BASE, lockKey: ["k-", "pay"] });
      const opened = await openTable(open, postgres, table);
      await opened.query("INSERT INTO jobs (grp, pay) VALUES ('a', 'x'), ('a', 'y')");
      const [a, b] = [await opened.session(), await opened.session()];
      await a.begin();
      await a.connection.query("SELECT 1 FROM jobs WHERE id = 1 FOR UPDATE");
      const { claim, release } = locks(table);
      const rows = await b.alone<ClaimedRow>(claim, ONE);
      expect(rows).toMatchObject([{ id: "2", attempt: "2" }]);
      expect((await opened.query(held)).rows).toEqual([{ n: 1 }]);
      expect(await b.alone(release, { ids: list(["2"]) })).toEqual([{ id: "2" }]);
      expect((await opened.query("SELECT att FROM jobs WHERE id = 2")).rows).toEqual([{ att: 1 }]);
      await b.connection.query("SELECT pg_advisory_unlock_all()");
    });

    test("18: sessions that claim at once take each row once", async () => {
      const table = describeTable({ columns: BASE, lockKey: ["k-", "pay"] });
      const opened = await openTable(open, postgres, table);
      await opened.query(
        "INSERT INTO jobs (grp, pay) SELECT 'a', (n % 7)::text FROM generate_series(1, 60) n",
      );
      const sessions = [await opened.session(), await opened.session(), await opened.session()];
      const { ack, claim, unlock } = locks(table);
      const worked: string[] = [];
      const busy = new Set<string | null>();
      await Promise.all(
        sessions.map(async (session) => {
          while (worked.length < 60) {
            const rows = await session.alone<ClaimedRow & { lock: string }>(claim, {
              ...ONE,
              limit: 2,
            });
            for (const { id, key, lock } of rows) {
              expect(busy.has(key)).toBe(false);
              busy.add(key);
              worked.push(id);
              await session.alone(ack, { ids: list([id]) });
              busy.delete(key);
              await session.run(unlock, { lock });
            }
          }
        }),
      );
      expect(new Set(worked).size).toBe(60);
      expect((await opened.query(held)).rows).toEqual([{ n: 0 }]);
    });

    test("a null in the key is empty text", async () => {
      const table = describeTable({
        columns: { id: ["bigint", "id"], a: "text", b: "integer" },
        lockKey: ["<", "a", "|", "b", ">"],
      });
      const opened = await openTable(open, postgres, table);
      await opened.query("INSERT INTO jobs (a, b) VALUES (NULL, 1), ('x', NULL)");
      const session = await opened.session();
      const rows = await session.alone<ClaimedRow>(locks(table).claim, { limit: 5 });
      expect(rows.map(({ key }) => key)).toEqual(["<|1>", "<x|>"]);
      await session.connection.query("SELECT pg_advisory_unlock_all()");
    });
  });

  test("38: a key is the same text whatever the session's settings are, of every type that it takes", async () => {
    const table = describeTable({
      columns: {
        id: ["bigint", "id"],
        hash: "bytes",
        at: "timestamp",
        flag: "boolean",
        part: "uuid",
        sum: "decimal",
        small: "smallint",
      },
      lockKey: ["", "hash", "|", "at", "|", "flag", "|", "part", "|", "sum", "|", "small"],
    });
    const opened = await openTable(open, postgres, table);
    await opened.query(
      "INSERT INTO jobs (hash, at, flag, part, sum, small) VALUES ('\\x00ff', '2024-02-29 12:00:00.5Z', true, '0189f7e0-0000-7000-8000-00000000000A', 1.50, 3)",
    );
    const session = await opened.session();
    for (const settings of [
      "SET TimeZone = 'Asia/Tokyo'",
      "SET bytea_output = 'escape'; SET DateStyle = 'German'; SET extra_float_digits = 0",
    ]) {
      await session.connection.query(settings);
      const rows = await session.alone<ClaimedRow>(locks(table).claim, { limit: 5 });
      expect(rows.map(({ key }) => key)).toEqual([
        "00ff|1709208000.500000|true|0189f7e0-0000-7000-8000-00000000000a|1.50|3",
      ]);
      await session.connection.query("SELECT pg_advisory_unlock_all()");
    }
  });

  test("73: the trigger notifies once a group of a statement, and not of rows due later", async () => {
    const table = describeTable({ columns: BASE });
    const opened = await open();
    for (const statement of postgres.ddl(table, { listenNotify: true }))
      await opened.query(statement);
    const { source } = opened;
    if (source.listen === undefined) return;
    const heard: string[] = [];
    let resolveEnd: () => void = () => {};
    const end = new Promise<void>((resolve) => {
      resolveEnd = resolve;
    });
    const stop = await source.listen(postgres.channel?.(table) ?? "", {
      notified: (payload) => {
        if (payload === "end") resolveEnd();
        else heard.push(payload);
      },
      lost: () => {},
    });
    try {
      await opened.query(
        `INSERT INTO jobs (grp, pay, due) SELECT CASE WHEN n < 9 THEN 'a' ELSE 'b' END, '', NULL FROM generate_series(1, 10) n`,
      );
      await opened.query(
        "INSERT INTO jobs (grp, pay, due) VALUES ('later', '', now() + interval '1 h')",
      );
      await opened.query(`INSERT INTO jobs (grp, pay) VALUES (repeat('x', 8000), '')`);
      const notify = postgres.notify?.();
      await opened.query(notify?.text ?? "", ["jobs", "end"]);
      await end;
      expect(heard.sort()).toEqual(["", "a", "b"]);
    } finally {
      await stop();
    }
  });
});
