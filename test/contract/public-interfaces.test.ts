import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { fromPg } from "../../src/driver/pg.ts";
import {
  type BrokerOptions,
  type ConnectionSource,
  c,
  deadLetter,
  inboxTable,
  retry,
  retryAfter,
  SchemaError,
  TableError,
} from "../../src/index.ts";
import {
  AdvisoryJobs,
  EFFECT,
  FORMS,
  LeaseJobs,
  LockJobs,
  rejection,
  testBroker,
} from "../support/broker-table.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { Gate } from "../support/gate.ts";
import { until } from "../support/until.ts";
import { clientSource } from "./outside/client-source.ts";
import { frogDb } from "./outside/frog-dialect.ts";

async function openDatabase() {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  for (const table of [LeaseJobs, LockJobs, AdvisoryJobs]) {
    for (const statement of table.ddl("postgres")) await database.query(statement);
  }
  await database.query("CREATE TABLE effects (what text NOT NULL)");
  await database.query("CREATE SEQUENCE frog_claims");
  await database.query(`CREATE FUNCTION frog_clock() RETURNS timestamptz LANGUAGE sql AS
    $$ SELECT nextval('frog_claims'); SELECT clock_timestamp() $$`);
  return {
    ...database,
    async texts(table: string, column: string): Promise<string[]> {
      const { rows } = await database.query<{ text: string }>(
        `SELECT ${column}::text AS text FROM ${table} ORDER BY 1`,
      );
      return rows.map(({ text }) => text);
    },
  };
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

describeOn("postgres", "80: a dialect of the service's own", () => {
  function frogBroker(url: string) {
    const pool = new pg.Pool({ connectionString: url, max: 5 });
    onTestFinished(() => pool.end());
    const source = fromPg(pool);
    return { source, ...testBroker(source, { dialect: frogDb }) };
  }

  for (const Jobs of [LockJobs, LeaseJobs]) {
    const { form, name } = Jobs.description;
    test(`80: ${form}: two brokers work its tables end to end`, async () => {
      const db = await openDatabase();
      const queue = Jobs.queue("a");
      const seen: [unknown, unknown][] = [];
      const brokers = [frogBroker(db.url), frogBroker(db.url)];
      for (const { broker } of brokers) {
        broker.subscribe(
          queue,
          {
            workers: 2,
            transactional: true,
            deadLetter: Jobs.queue("dead"),
            retry: { baseDelayMs: 1 },
          },
          async (message, { attempt, tx }) => {
            seen.push([message, attempt]);
            await tx.query(EFFECT, [String(message)]);
            if (attempt === 1 && message === "again") return retry();
            if (attempt === 1 && message === "throws") throw new Error("no stock");
            if (message === "later") return retryAfter("1h");
            if (message === "dead") return deadLetter("no use");
            return undefined;
          },
        );
      }
      const [{ broker, source }] = brokers as [(typeof brokers)[0], ...typeof brokers];
      // Through the broker, in its dialect, and through the source, in its database's.
      for (const message of ["again", "throws"]) await broker.publish(queue, message);
      await queue.insert(source, ["later", "dead", ...numbers(100)]);
      for (const each of brokers) await each.broker.start();
      await until(async () => (await db.texts(name, "grp || payload")).length === 2);
      for (const each of brokers) await each.broker.stop();
      expect(await db.texts(name, "grp || ' ' || payload || ' ' || attempt")).toEqual([
        'a "later" 2',
        'dead "dead" 1',
      ]);
      expect(await db.texts("effects", "what")).toEqual(
        [...numbers(100).map(String), "again", "throws"].sort(),
      );
      expect(seen).toHaveLength(106);
      for (const message of ["again", "throws"]) {
        expect(seen.filter(([what]) => what === message)).toEqual([
          [message, 1],
          [message, 2],
        ]);
      }
    });
  }

  test("80: its claim is the one that runs, in its order", async () => {
    const db = await openDatabase();
    const { broker, source } = frogBroker(db.url);
    const seen: unknown[] = [];
    broker.subscribe(LockJobs.queue("a"), (message) => void seen.push(message));
    const insert = (payload: string, prio: number | null) =>
      LockJobs.insert(source, { grp: "a", payload, prio });
    await insert("last", null);
    await insert("second", 2);
    await insert("first", 1);
    await broker.start();
    await until(() => broker.stats()[0]?.settled.ack === 3);
    expect(seen).toEqual(["first", "second", "last"]);
    expect(await db.texts("frog_claims", "is_called")).toEqual(["true"]);
  });

  test("80: what it does not build is refused by name", async () => {
    const db = await openDatabase();
    const { broker } = frogBroker(db.url);
    const refused = (subscribe: () => unknown) => {
      expect(subscribe).toThrow(TableError);
      expect(subscribe).toThrow(
        /^advisory_jobs: rows are held by .*advisory.*, which frogdb does not do; it does: .*row locks?, .*leases?/i,
      );
    };
    refused(() => broker.subscribe(AdvisoryJobs.queue("a"), () => undefined));
    refused(() => broker.route("jobs", AdvisoryJobs.queue("a")));
    const Custom = inboxTable("custom_jobs", {
      columns: { id: c.bigint().id().generated(), payload: c.json().payload() },
      custom: { ack: { postgres: () => Promise.resolve() } },
    });
    expect(() => broker.subscribe(Custom.queue(), () => undefined)).toThrow(
      "custom_jobs: the custom event ack has no function for frogdb",
    );
    expect(() =>
      testBroker(fromPg(new pg.Pool()), { dialect: frogDb, listenNotify: true }),
    ).toThrow(/frogdb/);
  });

  test("80: the start checks ask its statements", async () => {
    const db = await openDatabase();
    await db.query("DROP FUNCTION frog_clock");
    const { broker } = frogBroker(db.url);
    broker.subscribe(LockJobs.queue("a"), () => undefined);
    const error = await rejection(broker.start());
    expect(error).toBeInstanceOf(SchemaError);
    expect(String(error)).toMatch(
      /refuses the statement "claim" on table lock_jobs: .*frog_clock\(\) does not exist/,
    );
    await db.query("DROP TABLE lock_jobs");
    await expect(broker.start()).rejects.toThrow("the database has no table lock_jobs");
  });
});

describeOn("postgres", "81: a source of connections of the service's own", () => {
  function brokerOf(url: string, max: number, options: BrokerOptions = {}) {
    const own = clientSource(url, max);
    onTestFinished(() => own.end());
    const source: ConnectionSource = own;
    return { own, ...testBroker(source, options) };
  }

  for (const { form, Jobs } of FORMS) {
    for (const transactional of [false, true]) {
      for (const batch of [undefined, 7]) {
        const how = `${transactional ? "transactional" : "plain"}, ${batch ? "in batches" : "one by one"}`;
        test(`81, ${form}, ${how}: two brokers deliver each row once`, async () => {
          const db = await openDatabase();
          const queue = Jobs.queue("a");
          const seen: unknown[] = [];
          const both = [brokerOf(db.url, 4), brokerOf(db.url, 4)];
          for (const { broker } of both) {
            // The types differ with the options; the handler's work does not.
            const work = async (messages: readonly unknown[], tx: { query: Query } | undefined) => {
              seen.push(...messages);
              for (const message of messages) await tx?.query(EFFECT, [String(message)]);
            };
            if (batch !== undefined && transactional) {
              broker.subscribe(queue, { workers: 3, batch, transactional }, (many, { tx }) =>
                work(many, tx),
              );
            } else if (batch !== undefined) {
              broker.subscribe(queue, { workers: 3, batch }, (many) => work(many, undefined));
            } else if (transactional) {
              broker.subscribe(queue, { workers: 3, transactional }, (one, { tx }) =>
                work([one], tx),
              );
            } else {
              broker.subscribe(queue, { workers: 3 }, (one) => work([one], undefined));
            }
          }
          await queue.insert(both[0]?.own ?? {}, numbers(200));
          for (const { broker } of both) await broker.start();
          await until(async () => (await db.texts(Jobs.description.name, "id")).length === 0, {
            deadline: 30_000,
          });
          for (const { broker } of both) await broker.stop();
          expect(seen.map(Number).sort((a, b) => a - b)).toEqual(numbers(200));
          expect((await db.texts("effects", "what")).map(Number).sort((a, b) => a - b)).toEqual(
            transactional ? numbers(200) : [],
          );
          for (const { own } of both) expect(own.mostOut).toBeLessThanOrEqual(4);
        });
      }
    }

    test(`81, ${form}: sessions that end while their handlers run lose nothing`, async () => {
      const db = await openDatabase();
      const queue = Jobs.queue("a");
      const { broker, own } = brokerOf(db.url, 4, { leaseMs: 500 });
      const gate = new Gate();
      let started = 0;
      broker.subscribe(
        queue,
        { workers: 3, transactional: true, retry: { baseDelayMs: 1 } },
        async (message, { tx }) => {
          started += 1;
          await tx.query(EFFECT, [String(message)]);
          if (started <= 3) await gate.opened;
        },
      );
      await queue.insert(own, numbers(9));
      await broker.start();
      await until(() => started === 3);
      const ended = await db.query(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'outside' AND datname = current_database()",
      );
      expect(ended.rows.length).toBeGreaterThanOrEqual(3);
      gate.open();
      await until(async () => (await db.texts(Jobs.description.name, "id")).length === 0, {
        deadline: 30_000,
      });
      await broker.stop();
      expect(await db.texts("effects", "what")).toEqual(numbers(9).map(String));
      expect(started).toBe(12);
      expect(own.destroyed).toBeGreaterThan(0);
    });
  }
});

type Query = (text: string, params?: readonly unknown[]) => Promise<unknown>;
