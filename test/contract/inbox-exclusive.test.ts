import { afterEach, describe, expect, test } from "vitest";
import { postgresInbox } from "../../src/dialect/postgres/inbox.ts";
import type { Connection, ConnectionSource } from "../../src/driver/connection.ts";
import { Log } from "../../src/log.ts";
import { InboxClaims } from "../../src/queuebox/inbox-claims.ts";
import { InboxWorker, resolveOptions } from "../../src/queuebox/index.ts";
import { Gate } from "../support/gate.ts";
import { LineLogger, type OpenedInbox, openInbox, start } from "../support/inbox.ts";
import { addRows } from "../support/inbox-rows.ts";
import { forEachInbox, forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { endAll, produce, WorkerProcess } from "./processes/programs.ts";
import type { HandlerWindow, SourceKind } from "./processes/protocol.ts";

const SECOND = 1000;
const HOUR = 3600 * SECOND;

describe("one message of an aggregate at a time", () => {
  afterEach(endAll);

  forEachSource({ connections: "many" }, (name, open) => {
    if (name === "pglite") return;

    // By hand a claim takes a round trip for each of its steps: the widest window for two to cross in.
    test.runIf(name === "handmade")(
      "no two handlers of one aggregate overlap in 5,000 messages of a near-empty table, whose producers commit late",
      { timeout: 110 * SECOND },
      async () => {
        const inbox = await openInbox(open);
        const workers = [await worker(name, inbox), await worker(name, inbox)];
        const written = await produce({
          url: urlOf(inbox),
          source: "orders",
          producers: 8,
          aggregates: 6,
          messages: 5000,
          holdMs: 8,
          mostWaiting: 4,
          aggregate: "any",
        });
        const windows = await windowsOf(workers, written);
        await Promise.all(workers.map((each) => each.stop()));
        expect(written).toBeGreaterThanOrEqual(5000);
        expect(overlaps(windows)).toEqual([]);
        expect(new Set(windows.map(({ key }) => key)).size).toBe(written);
        expect(workers.every((each) => each.windows.length > 0)).toBe(true);
      },
    );

    test.runIf(name === "pg")(
      "an aggregate whose messages are committed in order is handled in order",
      { timeout: 60 * SECOND },
      async () => {
        const inbox = await openInbox(open);
        const workers = [await worker(name, inbox), await worker(name, inbox)];
        const written = await produce({
          url: urlOf(inbox),
          source: "orders",
          producers: 6,
          aggregates: 6,
          messages: 1200,
          holdMs: 8,
          mostWaiting: 60,
          aggregate: "own",
        });
        const windows = await windowsOf(workers, written);
        await Promise.all(workers.map((each) => each.stop()));
        expect(overlaps(windows)).toEqual([]);
        for (const ofOne of byAggregate(windows)) {
          const sequence = ofOne.map(({ key }) => Number(key.split(":")[1]));
          expect(sequence).toEqual([...sequence].sort((a, b) => a - b));
        }
      },
    );

    test("of two claims that cross, one gives its message back before a handler starts", async () => {
      const inbox = await openInbox(open);
      // Written first and visible last: what the second claim finds at the head.
      const late = await inbox.source.connect();
      await late.begin();
      await late.query(INSERT, ["early"]);
      await inbox.query(INSERT, ["visible"]);
      const mayCommit = new Gate();
      const slow = new SlowCommit(inbox.another(), mayCommit.opened);
      const inWork: string[] = [];
      const mayEnd = new Gate();
      const logger = new LineLogger();
      const work = (source: ConnectionSource) =>
        start((signal) =>
          new InboxWorker(source, { source: "orders", pollIntervalMs: 20, logger }).run(
            async (message) => {
              inWork.push(message.idempotencyKey);
              await mayEnd.opened;
            },
            signal,
          ),
        );
      const first = work(slow);
      await slow.waits;
      await late.commit();
      await late.release();
      const second = work(inbox.another());
      await until(() => inWork.length === 1);
      mayCommit.open();
      await until(() => logger.of("claim_collided").length > 0);
      expect(inWork).toEqual(["early"]);
      expect(await inbox.count("processing")).toBe(1);
      mayEnd.open();
      await until(async () => (await inbox.count("processed")) === 2);
      await Promise.all([first.stop(), second.stop()]);
      expect(inWork).toEqual(["early", "visible"]);
    });

    test("workers of two processes never overlap on an aggregate, and do work two side by side", async () => {
      const inbox = await openInbox(open);
      for (let n = 1; n <= 4; n += 1) {
        await inbox.insert({ key: `a${n}`, aggregateId: "a" }, { key: `b${n}`, aggregateId: "b" });
      }
      const settings = { batchSize: 4, maxConcurrency: 4, pollIntervalMs: 5 };
      const workers = [
        await worker(name, inbox, { ...settings, wait: "hold" }),
        await worker(name, inbox, { ...settings, wait: "hold" }),
      ];
      const inWork = () =>
        workers.flatMap((each) =>
          each.started.filter((key) => !each.windows.some((window) => window.key === key)),
        );
      for (let n = 1; n <= 4; n += 1) {
        await until(() => inWork().length === 2);
        expect(inWork().sort()).toEqual([`a${n}`, `b${n}`]);
        for (const each of workers) {
          each.tell({ go: `a${n}` });
          each.tell({ go: `b${n}` });
        }
        await until(() => workers.flatMap(({ windows }) => windows).length === 2 * n);
      }
      await Promise.all(workers.map((each) => each.stop()));
      expect(overlaps(workers.flatMap(({ windows }) => windows))).toEqual([]);
      expect(await inbox.count("processed")).toBe(8);
    });
  });
});

describe("two workers and twenty messages", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("no message is handled twice", async () => {
      const inbox = await openInbox(open);
      for (let n = 0; n < 20; n += 1) await inbox.insert({ key: `m${n}` });
      const handled: string[] = [];
      const running = [inbox.source, inbox.another()].map((source) => {
        const options = {
          source: "orders",
          dialect: words.dialect,
          batchSize: 3,
          maxConcurrency: 3,
          pollIntervalMs: 20,
        };
        return start((signal) =>
          new InboxWorker(source, options).run(async (message, tx) => {
            handled.push(message.idempotencyKey);
            await tx.query(words.effect, [message.idempotencyKey]);
          }, signal),
        );
      });
      await until(() => handled.length >= 20);
      await Promise.all(running.map((each) => each.stop()));
      expect([...handled].sort()).toEqual((await inbox.effects()).sort());
      expect(new Set(handled).size).toBe(20);
      expect(await inbox.count("processed")).toBe(20);
    });
  });
});

describe("many claimers", () => {
  forEachSource({ connections: "many" }, (name, open) => {
    test.runIf(name === "pg")(
      "F9: twenty that start at once on 10,000 rows take each row once",
      { timeout: 60 * SECOND },
      async () => {
        const inbox = await openInbox(open, { max: 20 });
        await addRows({ query: (text) => inbox.query(text) }, { count: 10_000 });
        const claimed: string[] = [];
        const claimers = Array.from({ length: 20 }, () => claimsOn(inbox, 100));
        await Promise.all(
          claimers.map(async (claims) => {
            const { signal } = new AbortController();
            for (;;) {
              const { deliveries } = await claims.claim(100, signal);
              claimed.push(...deliveries.map(({ id }) => id));
              if (deliveries.length === 0) return;
            }
          }),
        );
        expect(claimed).toHaveLength(10_000);
        expect(new Set(claimed).size).toBe(10_000);
      },
    );
  });
});

describe("an aggregate with 10,000 messages due, before 100 others", () => {
  forEachInbox({ connections: "many" }, (open, { dialect, later }) => {
    describe.each([{ extraIndexes: true }, { extraIndexes: false }])(
      "with the indexes %o",
      (indexes) => {
        test.each([
          { hot: "in work", taken: 0 },
          { hot: "free", taken: 1 },
        ])("S10: a claim of ten returns ten when it is $hot", async ({ hot, taken }) => {
          const inbox = await openInbox(open, { ...indexes, max: 12 });
          const session = { query: (text: string) => inbox.query(text) };
          await addRows(session, { count: 10_000, aggregate: "'hot'" }, dialect);
          const others = { count: 100, aggregate: "CONCAT('other-', n)", startSeconds: -60 };
          await addRows(session, others, dialect);
          if (hot === "in work") {
            const busy = { count: 1, aggregate: "'hot'", leaseSeconds: 3600 } as const;
            const row = { ...busy, state: "processing", startSeconds: -7200 } as const;
            await addRows(session, row, dialect);
          }
          const aggregates: (string | null)[] = [];
          const mayEnd = new Gate();
          const options = { source: "orders", dialect, maxConcurrency: 10, pollIntervalMs: HOUR };
          const running = start((signal) =>
            new InboxWorker(inbox.source, options).run(async (message) => {
              aggregates.push(message.aggregateId);
              await mayEnd.opened;
            }, signal),
          );
          await until(() => aggregates.length > 0);
          const claims = await inbox.query<{ claimed: number }>(
            `SELECT CAST(COUNT(*) AS int) AS claimed FROM inbox
          WHERE state = 'processing' AND scheduled_at > ${later(-90 * 60 * SECOND)}
          GROUP BY claim_token`,
          );
          mayEnd.open();
          await running.stop();
          expect(claims.rows).toEqual([{ claimed: 10 }]);
          expect(aggregates.filter((each) => each === "hot").length).toBeGreaterThanOrEqual(taken);
        });
      },
    );
  });
});

const INSERT = `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption)
  VALUES ('orders', $1, 'a', '{}', 'pull')`;

/** Connections without a pipeline, whose first claim that took a row waits before its COMMIT. */
class SlowCommit implements ConnectionSource {
  readonly #source: ConnectionSource;
  readonly #mayCommit: Promise<void>;
  readonly #waiting = new Gate();

  constructor(source: ConnectionSource, mayCommit: Promise<void>) {
    this.#source = source;
    this.#mayCommit = mayCommit;
  }

  get waits(): Promise<void> {
    return this.#waiting.opened;
  }

  async connect(): Promise<Connection> {
    const connection = await this.#source.connect();
    return {
      query: (text, params) => connection.query(text, params),
      begin: () => connection.begin(),
      commit: async () => {
        this.#waiting.open();
        await this.#mayCommit;
        await connection.commit();
      },
      rollback: () => connection.rollback(),
      release: (error) => connection.release(error),
    };
  }
}

/** The claims of one worker, without handlers. */
function claimsOn({ source }: OpenedInbox, batchSize: number): InboxClaims {
  const options = resolveOptions({ source: "orders", batchSize });
  const context = {
    source,
    dialect: postgresInbox,
    statements: postgresInbox.statements(options.schema, options),
    options,
    log: new Log(),
    ended: new AbortController().signal,
    fields: {},
  };
  return new InboxClaims(context, false);
}

/** A worker process on an inbox, by default one whose handlers take up to 6 ms. */
async function worker(
  kind: SourceKind,
  inbox: OpenedInbox,
  {
    wait = { randomMs: 6 },
    ...options
  }: {
    readonly batchSize?: number;
    readonly maxConcurrency?: number;
    readonly pollIntervalMs?: number;
    readonly wait?: "hold" | { readonly randomMs: number };
  } = {},
): Promise<WorkerProcess> {
  return await WorkerProcess.start({
    url: urlOf(inbox),
    kind,
    connections: 6,
    options: { source: "orders", maxConcurrency: 4, pollIntervalMs: 2, ...options },
    handler: { wait, writes: false },
  });
}

function urlOf({ url }: OpenedInbox): string {
  if (url === undefined) throw new Error("no other process reaches this database");
  return url;
}

async function windowsOf(
  workers: readonly WorkerProcess[],
  count: number,
): Promise<HandlerWindow[]> {
  const all = () => workers.flatMap(({ windows }) => windows);
  await until(() => all().length >= count, { deadline: 60 * SECOND });
  return all();
}

/** The windows of each aggregate, by their start. */
function byAggregate(windows: readonly HandlerWindow[]): HandlerWindow[][] {
  const all = new Map<string, HandlerWindow[]>();
  for (const window of windows) {
    const key = window.aggregate ?? "";
    all.set(key, [...(all.get(key) ?? []), window]);
  }
  return [...all.values()].map((each) =>
    each.sort((a, b) => (BigInt(a.from) < BigInt(b.from) ? -1 : 1)),
  );
}

/** Pairs of one aggregate of which the second began before the first had ended. */
function overlaps(windows: readonly HandlerWindow[]): HandlerWindow[][] {
  return byAggregate(windows).flatMap((ofOne) =>
    ofOne.flatMap((window, index) => {
      const next = ofOne[index + 1];
      return next !== undefined && BigInt(next.from) < BigInt(window.to) ? [[window, next]] : [];
    }),
  );
}
