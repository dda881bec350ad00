/**
 * Claims against a model: random tables, and what a claim may take of them computed in plain code.
 * The statements are built to read little; the model reads everything.
 */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
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
import { sqlserverInbox } from "../../src/dialect/sqlserver/inbox.ts";
import { sqlserverInboxStatements } from "../../src/dialect/sqlserver/inbox-contract.ts";
import type { Connection } from "../../src/driver/connection.ts";
import { createDatabase, describeOn, type TestDatabase } from "../support/databases.ts";
import { type OpenedInbox, openInbox } from "../support/inbox.ts";
import { forEachInbox } from "../support/sources.ts";

interface Row {
  readonly aggregate: string | null;
  readonly kind:
    | "due"
    | "later"
    | "live"
    | "expired"
    | "dead"
    | "processed"
    | "pushed"
    | "elsewhere";
  /** Rows share places on purpose: then the id decides. */
  readonly place: number;
}

interface Placed extends Row {
  readonly id: string;
}

const rows: fc.Arbitrary<Row[]> = fc.array(
  fc.record<Row>({
    aggregate: fc.constantFrom(null, "", "a", "b", "c", "d"),
    kind: fc.constantFrom(
      ...(["due", "due", "due", "due", "later", "live", "expired", "expired"] as const),
      ...(["dead", "processed", "pushed", "elsewhere"] as const),
    ),
    place: fc.integer({ min: 1, max: 12 }),
  }),
  { maxLength: 30 },
);

/** All that may be taken at once, in order: nothing of a busy aggregate, the first of each other. */
function free(table: readonly Placed[], idOrder: (id: string) => string): string[] {
  const waiting = table
    .filter(({ kind }) => kind === "due" || kind === "expired")
    .sort((a, b) => a.place - b.place || (idOrder(a.id) < idOrder(b.id) ? -1 : 1));
  const closed = new Set(table.filter(({ kind }) => kind === "live").map((row) => row.aggregate));
  closed.delete(null);
  const taken: string[] = [];
  for (const row of waiting) {
    if (row.aggregate !== null && closed.has(row.aggregate)) continue;
    if (row.aggregate !== null) closed.add(row.aggregate);
    taken.push(row.id);
  }
  return taken;
}

const batchSize = 10;
type ClaimName = "claim" | "byAggregate" | "inOrder" | "public";
type Claims = Readonly<
  Record<ClaimName, { readonly text: string; readonly params: readonly string[] }>
>;

function paramsOf({ params }: Claims[ClaimName], batch: number): unknown[] {
  const given = {
    source: "orders",
    batch,
    leaseMs: 60_000,
    candLimit: 50,
    token: randomUUID(),
    cursor: "",
  };
  const values = Object.entries(given);
  return params.map((param) => values.find(([key]) => key === param)?.[1]);
}

const placed = (table: readonly Row[]): Placed[] =>
  table.map((row) => ({ ...row, id: randomUUID() }));

/** `take`: the ids of a claim on a table of these rows alone; `idOrder`: by what the database orders ids. */
function testClaims(
  take: (name: ClaimName, table: readonly Placed[], batch: number) => Promise<string[]>,
  idOrder: (id: string) => string,
): void {
  test.each(["claim", "inOrder", "public"] as const)(
    "%s takes exactly the first of what is free, in order",
    async (name) => {
      await fc.assert(
        fc.asyncProperty(rows, fc.integer({ min: 1, max: batchSize }), async (some, batch) => {
          const table = placed(some);
          expect(await take(name, table, batch)).toEqual(free(table, idOrder).slice(0, batch));
        }),
        { numRuns: 150 },
      );
    },
  );

  test("byAggregate takes a full batch of what is free, in order, and all of it where it fits", async () => {
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: batchSize }), async (some, batch) => {
        const table = placed(some);
        const all = free(table, idOrder);
        const taken = await take("byAggregate", table, batch);
        expect(taken).toHaveLength(Math.min(batch, all.length));
        expect(taken).toEqual(all.filter((id) => taken.includes(id)));
      }),
      { numRuns: 150 },
    );
  });
}

const insert = `INSERT INTO inbox
  (id, source, idempotency_key, aggregate_id, payload, consumption, state, created_at, scheduled_at, claim_token, lease_expires_at)
SELECT id, CASE kind WHEN 'elsewhere' THEN 'others' ELSE 'orders' END, id::text, aggregate, '{}',
  CASE kind WHEN 'pushed' THEN 'push' ELSE 'pull' END,
  CASE WHEN kind IN ('live', 'expired') THEN 'processing' WHEN kind IN ('dead', 'processed') THEN kind ELSE 'pending' END,
  now(), CASE kind WHEN 'later' THEN now() + interval '1 day' ELSE now() - interval '1 hour' END + place * interval '1 second',
  CASE WHEN kind IN ('live', 'expired') THEN gen_random_uuid() END,
  CASE kind WHEN 'live' THEN now() + interval '1 hour' WHEN 'expired' THEN now() - interval '1 second' END
FROM jsonb_to_recordset($1::jsonb) AS r (id uuid, aggregate text, kind text, place int)`;

describeOn("postgres", "claims against a model", () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createDatabase();
    for (const statement of inboxDdl({ extraIndexes: true })) await database.query(statement);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const claims: Claims = {
    claim: claimStatement(defaultSchema, { batchSize }),
    byAggregate: claimPastByAggregateStatement(defaultSchema, { batchSize }),
    inOrder: claimPastInOrderStatement(defaultSchema, { batchSize }),
    public: postgresInboxStatements(defaultSchema).claim,
  };

  testClaims(
    async (name, table, batch) => {
      await client.query("BEGIN");
      try {
        await client.query(insert, [JSON.stringify(table)]);
        const { rows: taken } = await client.query<{ id: string | null }>(
          claims[name].text,
          paramsOf(claims[name], batch),
        );
        return taken.flatMap(({ id }) => (id === null ? [] : [id]));
      } finally {
        await client.query("ROLLBACK");
      }
    },
    (id) => id,
  );
});

const insertSqlServer = `INSERT INTO inbox
  (id, source, idempotency_key, aggregate_id, payload, consumption, state, created_at, scheduled_at, claim_token, lease_expires_at)
SELECT r.id, CASE r.kind WHEN 'elsewhere' THEN N'others' ELSE N'orders' END, CONVERT(nvarchar(36), r.id), r.aggregate, N'{}',
  CASE r.kind WHEN 'pushed' THEN 'push' ELSE 'pull' END,
  CASE WHEN r.kind IN ('live', 'expired') THEN N'processing' WHEN r.kind IN ('dead', 'processed') THEN r.kind ELSE N'pending' END,
  CAST('2020-01-01' AS datetime2),
  DATEADD(second, r.place, CASE r.kind WHEN 'later' THEN DATEADD(day, 1, SYSUTCDATETIME()) ELSE CAST('2020-01-01' AS datetime2) END),
  CASE WHEN r.kind IN ('live', 'expired') THEN NEWID() END,
  CASE r.kind WHEN 'live' THEN DATEADD(hour, 1, SYSUTCDATETIME()) WHEN 'expired' THEN DATEADD(second, -1, SYSUTCDATETIME()) END
FROM OPENJSON(@p1) WITH (id uniqueidentifier, aggregate nvarchar(255), kind nvarchar(20), place int) AS r`;

/** SQL Server looks at a uniqueidentifier from its end, and at the bytes of the first three parts backwards. */
function sqlServerOrder(id: string): string {
  const [a = "", b = "", c = "", d = "", e = ""] = id.split("-");
  const backwards = (part: string) => (part.match(/../g) ?? []).reverse().join("");
  return [e, d, backwards(c), backwards(b), backwards(a)].join("");
}

describe("claims against a model", () => {
  forEachInbox({ connections: "many", dialect: "sqlserver" }, (open) => {
    let inbox: OpenedInbox;
    let connection: Connection;
    beforeAll(async () => {
      inbox = await openInbox(open, { extraIndexes: true });
      connection = await inbox.source.connect();
    });
    afterAll(() => connection.release());

    const { claim, claimPastByAggregate, claimPastInOrder } = sqlserverInbox.statements(
      defaultSchema,
      { batchSize, chargeExpired: false },
    );
    const claims: Claims = {
      claim,
      byAggregate: claimPastByAggregate,
      inOrder: claimPastInOrder,
      public: sqlserverInboxStatements(defaultSchema).claim,
    };

    testClaims(async (name, table, batch) => {
      await connection.begin();
      try {
        await connection.query(insertSqlServer, [JSON.stringify(table)]);
        const { rows: taken } = await connection.query<{ id: string | null }>(
          claims[name].text,
          paramsOf(claims[name], batch),
        );
        return taken.flatMap(({ id }) => (id === null ? [] : [id.toLowerCase()]));
      } finally {
        await connection.rollback();
      }
    }, sqlServerOrder);
  });
});
