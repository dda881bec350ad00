import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { inboxDdl } from "../../src/dialect/postgres/inbox-ddl.ts";
import { fromPg } from "../../src/driver/pg.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { openInbox } from "../support/inbox.ts";
import { forEachSource } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, WatchedSource, work } from "../support/work-inbox.ts";

describe("a worker whose database is away", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    test("S3: backs off from the poll interval to 30 s, says so ever more rarely, and goes on by itself", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      const watched = new WatchedSource(inbox.source);
      watched.failure = new Error("getaddrinfo ENOTFOUND postgres://app:hunter2@db/shop");
      // An hour's lease tells the limit of a try from the wait after it.
      const leaseMs = 3_600_000;
      const { logger, stop } = work(watched, () => {}, { clock, pollIntervalMs: 200, leaseMs });
      const waits: number[] = [];
      for (let failures = 1; failures <= 20; failures++) {
        await eventually(
          () => watched.connects === failures && clock.timers === 1 && (clock.next ?? 0) < leaseMs,
        );
        waits.push(clock.next ?? Number.NaN);
        // The last failure's wait is the one that ends with a connection.
        if (failures === 20) watched.failure = undefined;
        await clock.advance(clock.next ?? 0);
      }
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      for (const [index, wait] of waits.entries()) {
        const middle = Math.min(200 * 2 ** index, 30_000);
        expect(wait).toBeGreaterThanOrEqual(middle * 0.8 - 1);
        expect(wait).toBeLessThanOrEqual(Math.min(middle * 1.2, 30_000) + 1);
      }
      expect(logger.of("claim_failed").map(({ fields }) => fields["failures"])).toEqual([
        1, 2, 4, 8, 16,
      ]);
      expect(logger.of("claim_failed_recovered")).toMatchObject([
        { level: "info", fields: { failures: 20 } },
      ]);
      expect(JSON.stringify(logger.lines)).not.toContain("hunter2");
      expect(await inbox.row("a")).toMatchObject({ attempt: 0 });
    });

    test("when a handler gets no connection tries again after the backoff, not at a poll an hour later", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      const watched = new WatchedSource(inbox.source);
      const connect = watched.connect.bind(watched);
      watched.connect = (signal) => {
        // The look at the table, the claim, and then the handler.
        if (watched.connects === 2) {
          watched.failure = new Error("too many connections");
          watched.failures = 1;
        }
        return connect(signal);
      };
      const { logger, stop } = work(watched, () => {}, { clock, pollIntervalMs: 3_600_000 });
      await eventually(() => logger.of("no_connection").length === 1);
      // The poll's own timer is longer.
      await eventually(() => watched.inUse === 0 && Number(clock.next) <= 30_000);
      await clock.advance(clock.next ?? 0);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({ attempt: 0 });
    });

    test("when handlers get no connection gives their messages back, spends no attempt, and backs off", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const watched = new WatchedSource(inbox.source);
      let refused = 0;
      const connect = watched.connect.bind(watched);
      // The look at the table, the claim, and then nothing for the first three handlers.
      watched.connect = (signal) => {
        const isHandler = watched.connects >= 2 && watched.inUse === 0 && refused < 3;
        if (isHandler && watched.connects % 3 === 2) {
          refused += 1;
          watched.failure = new Error("too many connections");
          watched.failures = 1;
        }
        return connect(signal);
      };
      const { logger, stop } = work(watched, () => {});
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(logger.of("no_connection").length).toBeGreaterThanOrEqual(1);
      expect(await inbox.row("a")).toMatchObject({ attempt: 0, lastError: null });
      expect(logger.of("retried")).toEqual([]);
    });
  });

  forEachSource({ connections: "many" }, (_name, open) => {
    test("T16: a server that has become read-only spends no attempt, and its messages are worked when it writes again", async () => {
      const inbox = await openInbox(open);
      const readOnly = (value: "on" | "off") =>
        inbox.query(`DO $$ BEGIN
          EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = ${value}', current_database());
          PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'test';
        END $$`);
      await readOnly("on");
      const watched = new WatchedSource(inbox.source);
      const { logger, stop } = work(watched, () => {});
      await eventually(() => logger.of("claim_failed").length >= 2);
      await inbox.query(
        "BEGIN; SET TRANSACTION READ WRITE; INSERT INTO inbox (source, idempotency_key, payload, consumption) VALUES ('orders', 'a', '{}', 'pull'); COMMIT",
      );
      await inbox.query(`BEGIN; SET TRANSACTION READ WRITE; DO $$ BEGIN
          EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = off', current_database());
          PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'test';
        END $$; COMMIT`);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({ attempt: 0, lastError: null });
    });
  });
});

describeOn("postgres", "an error's text that the database cannot store", () => {
  test.each(["LATIN1", "SQL_ASCII"])("is stored in plainer letters: %s", async (encoding) => {
    const home = await createDatabase();
    onTestFinished(() => home.drop());
    const url = new URL(home.url);
    const name = `${url.pathname.slice(1)}_${encoding.toLowerCase()}`;
    url.pathname = `/${name}`;
    await home.query(
      `CREATE DATABASE ${name} ENCODING '${encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`,
    );
    onTestFinished(() => home.query(`DROP DATABASE ${name} WITH (FORCE)`).then(() => undefined));
    const pool = new pg.Pool({ connectionString: url.href, max: 3 });
    onTestFinished(() => pool.end());
    for (const statement of inboxDdl()) await pool.query(statement);
    await pool.query(
      `INSERT INTO inbox (source, idempotency_key, payload, consumption)
       SELECT 'orders', key, '{}', 'pull' FROM unnest(ARRAY['retried', 'dead']) AS key`,
    );
    const { logger, stop } = work(
      fromPg(pool),
      ({ idempotencyKey }) => {
        throw new Error(`在庫切れ: ${idempotencyKey} \u{1f4a5} \ud800 é`);
      },
      {
        retryPolicy: ({ idempotencyKey }) =>
          idempotencyKey === "dead" ? { retry: false } : { retry: true, delayMs: 3_600_000 },
      },
    );
    await eventually(() => logger.of("dead").length === 1 && logger.of("retried").length === 1);
    await stop();
    const { rows } = await pool.query<{ last_error: string; state: string }>(
      "SELECT last_error, state FROM inbox ORDER BY idempotency_key",
    );
    expect(rows.map(({ state }) => state)).toEqual(["dead", "pending"]);
    for (const { last_error } of rows) {
      expect(last_error).toMatch(
        encoding === "LATIN1" ? /^Error: \?+: (dead|retried) / : /^Error: 在庫切れ: /,
      );
    }
    expect(logger.of("settlement_failed")).toEqual([]);
  });
});
