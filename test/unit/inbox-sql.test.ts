/**
 * The SQL of the inbox on PostgreSQL, as it is sent. The long statements stand in inbox-sql/*.sql, so
 * that a change shows in review: `npx vitest run --project unit -u` writes them anew.
 */
import { describe, expect, test } from "vitest";
import { defaultSchema as s } from "../../src/dialect/inbox-schema.ts";
import { candidateLimit, type InboxStatement } from "../../src/dialect/inbox-statement.ts";
import { columnsStatement, indexesStatement } from "../../src/dialect/postgres/inbox-catalogue.ts";
import { claimStatement, claimWindow } from "../../src/dialect/postgres/inbox-claim.ts";
import {
  claimPastByAggregateStatement,
  claimPastInOrderStatement,
} from "../../src/dialect/postgres/inbox-claim-past.ts";
import { postgresInboxStatements } from "../../src/dialect/postgres/inbox-contract.ts";
import {
  aggregateIndexDdl,
  inboxChannel,
  inboxDdl,
  inboxDdlText,
} from "../../src/dialect/postgres/inbox-ddl.ts";
import {
  listDeadStatement,
  purgeDeadByIdStatement,
  purgeDeadStatement,
  retryDeadOfSourceStatement,
  retryDeadStatement,
  showDeadStatement,
} from "../../src/dialect/postgres/inbox-dead-letters.ts";
import { releaseAllStatement, renewAllStatement } from "../../src/dialect/postgres/inbox-lease.ts";
import { lookAgainStatement } from "../../src/dialect/postgres/inbox-look-again.ts";
import { readBackStatement } from "../../src/dialect/postgres/inbox-read-back.ts";
import { completeOrFailStatement } from "../../src/dialect/postgres/inbox-settle.ts";
import { statusStatement } from "../../src/dialect/postgres/inbox-status.ts";
import { arrayText } from "../../src/dialect/postgres/sql.ts";
import { beginReadCommitted } from "../../src/dialect/postgres/transactions.ts";

const five = postgresInboxStatements(s);

describe("the public statements", () => {
  test("take their parameters in the contract's order", () => {
    expect(
      Object.fromEntries(Object.entries(five).map(([name, { params }]) => [name, params])),
    ).toEqual({
      claim: ["source", "batch", "leaseMs", "candLimit"],
      renew: ["leaseMs", "id", "token"],
      complete: ["id", "token"],
      retry: ["delayMs", "error", "id", "token"],
      dead: ["error", "id", "token"],
    });
  });

  test("renew", () => {
    expect(five.renew.text).toBe(`UPDATE "inbox" AS i
SET "lease_expires_at" = clock_timestamp() + $1::double precision * interval '1 millisecond'
WHERE i."id" = $2::uuid
  AND i."consumption" = 'pull' AND i."state" = 'processing'
  AND i."claim_token" = $3::uuid
  AND i."lease_expires_at" > clock_timestamp()`);
  });

  test("complete", () => {
    expect(five.complete.text).toBe(`UPDATE "inbox" AS i
SET "state" = 'processed',
    "processed_at" = clock_timestamp(),
    "claim_token" = NULL,
    "lease_expires_at" = NULL
WHERE i."id" = $1::uuid
  AND i."consumption" = 'pull' AND i."state" = 'processing'
  AND i."claim_token" = $2::uuid
  AND i."lease_expires_at" > clock_timestamp()`);
  });

  test("retry", () => {
    expect(five.retry.text).toBe(`UPDATE "inbox" AS i
SET "state" = 'pending',
    "scheduled_at" = clock_timestamp() + $1::double precision * interval '1 millisecond',
    "attempt" = i."attempt" + 1,
    "last_error" = $2::text,
    "claim_token" = NULL,
    "lease_expires_at" = NULL
WHERE i."id" = $3::uuid
  AND i."consumption" = 'pull' AND i."state" = 'processing'
  AND i."claim_token" = $4::uuid
  AND i."lease_expires_at" > clock_timestamp()`);
  });

  test("dead", () => {
    expect(five.dead.text).toBe(`UPDATE "inbox" AS i
SET "state" = 'dead',
    "last_error" = $1::text,
    "claim_token" = NULL,
    "lease_expires_at" = NULL
WHERE i."id" = $2::uuid
  AND i."consumption" = 'pull' AND i."state" = 'processing'
  AND i."claim_token" = $3::uuid
  AND i."lease_expires_at" > clock_timestamp()`);
  });
});

const everything: Record<string, InboxStatement> = {
  "public-claim": five.claim,
  claim: claimStatement(s, { batchSize: 10 }),
  "claim-charging": claimStatement(s, { batchSize: 10, chargeExpired: true }),
  "claim-past-by-aggregate": claimPastByAggregateStatement(s, { batchSize: 10 }),
  "claim-past-in-order": claimPastInOrderStatement(s, { batchSize: 10 }),
  "look-again": lookAgainStatement(s),
  "renew-all": renewAllStatement(s),
  "release-all": releaseAllStatement(s),
  "complete-or-fail": completeOrFailStatement(s),
  "read-back": readBackStatement(s),
  columns: columnsStatement(s),
  indexes: indexesStatement(s),
  status: statusStatement(s),
  "dead-list": listDeadStatement(s),
  "dead-show": showDeadStatement(s),
  "dead-retry": retryDeadStatement(s),
  "dead-retry-source": retryDeadOfSourceStatement(s),
  "dead-purge": purgeDeadStatement(s),
  "dead-purge-ids": purgeDeadByIdStatement(s),
};

describe.each(Object.entries(everything))("%s", (name, statement) => {
  test("is this text", async () => {
    const { params, text } = statement;
    await expect(`-- ${params.join(", ")}\n${text}\n`).toMatchFileSnapshot(`inbox-sql/${name}.sql`);
  });

  test("uses each of its parameters, with a cast, and no others", () => {
    const used = [...statement.text.matchAll(/\$(\d+)(::\w+)?/g)];
    expect(used.filter(([, , cast]) => cast === undefined)).toEqual([]);
    const positions = new Set(used.map(([, position]) => Number(position)));
    expect([...positions].toSorted()).toEqual(statement.params.map((_param, index) => index + 1));
  });

  test("never asks now(), which stands still in a transaction", () => {
    expect(statement.text).not.toMatch(/\bnow\(\)|current_timestamp/i);
  });
});

describe("the DDL", () => {
  test("is this text", async () => {
    const options = { extraIndexes: true, listenNotify: true };
    await expect(inboxDdlText(options)).toMatchFileSnapshot("inbox-sql/ddl.sql");
  });

  test("has the table and V10's indexes, and the rest where it is asked for", () => {
    expect(inboxDdl()).toHaveLength(4);
    expect(inboxDdl({ extraIndexes: true })).toHaveLength(5);
    expect(inboxDdl({ extraIndexes: true })[4]).toBe(aggregateIndexDdl(s));
    expect(inboxDdl({ listenNotify: true })).toHaveLength(7);
  });

  test("names stay within 63 bytes and apart", () => {
    const table = "a".repeat(63);
    const names = [table, `${table.slice(1)}b`].flatMap((each) =>
      inboxDdl({ schema: { ...s, table: each }, extraIndexes: true }).flatMap((statement) =>
        [...statement.matchAll(/INDEX IF NOT EXISTS "([^"]+)"/g)].map(([, name = ""]) => name),
      ),
    );
    expect(new Set(names).size).toBe(8);
    expect(names.every((name) => name.length <= 63)).toBe(true);
  });

  test("the channel is the table as the schema names it, cut to 63 bytes", () => {
    expect(inboxChannel(s)).toBe("inbox");
    expect(inboxChannel({ ...s, table: "App.In_box" })).toBe("App.In_box");
    const long = inboxChannel({ ...s, table: `${"a".repeat(60)}.${"b".repeat(60)}` });
    expect(long).toMatch(/^a+_[0-9a-f]{8}$|^a+\.?b*_[0-9a-f]{8}$/);
    expect(long).toHaveLength(63);
  });
});

test("a claim looks at three times the batch, at least 50, at most 500 rows", () => {
  expect([1, 16, 17, 100, 166, 167, 10_000].map(candidateLimit)).toEqual([
    50, 50, 51, 300, 498, 500, 500,
  ]);
  expect(claimWindow(20)).toBe(60);
  for (const wrong of [0, -1, 1.5, Number.NaN, 1e9])
    expect(() => claimWindow(wrong)).toThrow(RangeError);
});

test("lists travel as the text of an array", () => {
  expect(arrayText([])).toBe("{}");
  expect(arrayText(["a", "b"])).toBe("{a,b}");
  expect(arrayText([1, 0])).toBe("{1,0}");
});

test("a transaction says its level, whatever the session's default is", () => {
  expect(beginReadCommitted).toEqual({
    kind: "begin",
    text: "BEGIN ISOLATION LEVEL READ COMMITTED",
    afterBegin: "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
  });
});
