/**
 * Claims against a model: random tables, and what a claim may take of them computed in plain code.
 * The statements are built to read little; the model reads everything.
 */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defaultSchema } from "../../src/dialect/inbox-schema.ts";
import { claimStatement } from "../../src/dialect/postgres/inbox-claim.ts";
import {
  claimPastByAggregateStatement,
  claimPastInOrderStatement,
} from "../../src/dialect/postgres/inbox-claim-past.ts";
import { postgresInboxStatements } from "../../src/dialect/postgres/inbox-contract.ts";
import { inboxDdl } from "../../src/dialect/postgres/inbox-ddl.ts";
import { createDatabase, describeOn, type TestDatabase } from "../support/databases.ts";

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
function free(table: readonly Placed[]): string[] {
  const waiting = table
    .filter(({ kind }) => kind === "due" || kind === "expired")
    .sort((a, b) => a.place - b.place || (a.id < b.id ? -1 : 1));
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

  const batchSize = 10;
  const claims = {
    claim: claimStatement(defaultSchema, { batchSize }),
    byAggregate: claimPastByAggregateStatement(defaultSchema, { batchSize }),
    inOrder: claimPastInOrderStatement(defaultSchema, { batchSize }),
    public: postgresInboxStatements(defaultSchema).claim,
  };

  async function take(name: keyof typeof claims, table: readonly Placed[], batch: number) {
    await client.query("BEGIN");
    try {
      await client.query(insert, [JSON.stringify(table)]);
      const given = {
        source: "orders",
        batch,
        leaseMs: 60_000,
        candLimit: 50,
        token: randomUUID(),
        cursor: "",
      };
      const values = Object.entries(given);
      const params = claims[name].params.map((param) => values.find(([key]) => key === param)?.[1]);
      const { rows: taken } = await client.query<{ id: string | null }>(claims[name].text, params);
      return taken.flatMap(({ id }) => (id === null ? [] : [id]));
    } finally {
      await client.query("ROLLBACK");
    }
  }

  const placed = (table: readonly Row[]): Placed[] =>
    table.map((row) => ({ ...row, id: randomUUID() }));

  test.each(["claim", "inOrder", "public"] as const)(
    "%s takes exactly the first of what is free, in order",
    async (name) => {
      await fc.assert(
        fc.asyncProperty(rows, fc.integer({ min: 1, max: batchSize }), async (some, batch) => {
          const table = placed(some);
          expect(await take(name, table, batch)).toEqual(free(table).slice(0, batch));
        }),
        { numRuns: 150 },
      );
    },
  );

  test("byAggregate takes a full batch of what is free, in order, and all of it where it fits", async () => {
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: batchSize }), async (some, batch) => {
        const table = placed(some);
        const all = free(table);
        const taken = await take("byAggregate", table, batch);
        expect(taken).toHaveLength(Math.min(batch, all.length));
        expect(taken).toEqual(all.filter((id) => taken.includes(id)));
      }),
      { numRuns: 150 },
    );
  });
});
