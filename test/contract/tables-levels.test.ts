import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { Connection, ConnectionSource } from "../../src/driver/connection.ts";
import { c } from "../../src/table/columns.ts";
import type { FormName, IsolationLevel, TransactionMode } from "../../src/table/description.ts";
import { openTables, testBroker } from "../support/broker-table.ts";
import { forEachTarget, type OpenedSource, type Target } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

const columns = {
  id: c.bigint().id().generated(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  payload: c.json().payload(),
};
const lease = c.timestamp().lockedUntil().nullable();

/** How a table's transactions open: by a level, a mode, or as the database has it. */
type Opens =
  | { readonly isolation: IsolationLevel; readonly mode?: never }
  | { readonly mode: TransactionMode; readonly isolation?: never }
  | { readonly isolation?: never; readonly mode?: never };

function tableOf(form: FormName, { isolation, mode }: Opens) {
  const own = form === "lease" ? { ...columns, lease } : columns;
  const key = form === "advisoryLock" ? { advisoryLock: "job-{id}" as const } : {};
  const shape = { columns: own, ...key };
  if (isolation !== undefined) return inboxTable("jobs", { ...shape, isolation });
  return mode === undefined ? inboxTable("jobs", shape) : inboxTable("jobs", { ...shape, mode });
}

/** What the target's database opens, in words, and how it is asked for; the database's own first. */
function openedBy({ dialect }: Target, form: FormName): readonly [string, Opens][] {
  const { isolations, modes, rowLockIsolations = isolations } = dialect.features;
  const levels = form === "rowLock" ? rowLockIsolations : isolations;
  return [
    [modes.length === 0 ? "read committed" : "", {}],
    ...levels.map((isolation): [string, Opens] => [
      isolation.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
      { isolation },
    ]),
    ...modes.map((mode): [string, Opens] => [mode, { mode }]),
  ];
}

/** The source, and how the transaction was opened that it opened last; no statement tells of modes. */
class OpeningsOf implements ConnectionSource {
  readonly #inner: ConnectionSource;
  readonly max: number;
  readonly database = "sqlite";
  last: string | undefined;

  constructor(inner: ConnectionSource) {
    this.#inner = inner;
    this.max = inner.max ?? 1;
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    const connection = await this.#inner.connect(signal);
    const pipeline = connection.pipeline?.bind(connection);
    if (pipeline === undefined) return connection;
    return Object.assign(connection, {
      pipeline: async (steps: Parameters<typeof pipeline>[0]) => {
        for (const step of steps) if (step.kind === "begin") this.last = step.text;
        return await pipeline(steps);
      },
    });
  }
}

/** Asks a transaction that has written how it was opened. */
async function levelOf(
  tx: Pick<OpenedSource, "query">,
  dialect: string,
  openings: OpeningsOf,
): Promise<string | undefined> {
  if (dialect === "sqlite") return openings.last?.replace(/^BEGIN ?/, "").toLowerCase();
  const level = wordsOf(dialect).level ?? MYSQL_LEVEL;
  const ask = async () => (await tx.query<{ level: string }>(level)).rows[0]?.level;
  // MySQL tells of transactions from memory unless it was not asked for a tenth of a second.
  return (await until(ask, { interval: 130 })).toLowerCase();
}

const MYSQL_LEVEL = `SELECT trx_isolation_level AS level FROM information_schema.INNODB_TRX
  WHERE trx_mysql_thread_id = CONNECTION_ID()`;

describe("62: how transactions are opened", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    for (const form of target.dialect.features.forms) {
      for (const [words, opens] of openedBy(target, form)) {
        test(`62, ${form}: a handler's transaction is ${words || "SQLite's own"}, and keeps what it is for`, async () => {
          const Jobs = tableOf(form, opens);
          const db = await openTables(open, [Jobs]);
          const openings = new OpeningsOf(db.source);
          const source = db.dialect === "sqlite" ? openings : db.source;
          const { broker } = testBroker(source);
          const seen: unknown[] = [];
          broker.subscribe(Jobs.queue(), { transactional: true }, async (message, { tx }) => {
            await tx.query(db.effect, [message]);
            seen.push(await levelOf(tx, db.dialect, openings));
            if (message === "throws") throw new Error("no");
          });
          await Jobs.queue().insert(db.source, "works");
          await Jobs.queue().insert(db.source, "throws");
          await broker.start();
          await until(() => seen.length === 2);
          await until(() => broker.stats()[0]?.settled.retryAfter === 1);
          await broker.stop();
          expect(seen).toEqual([words, words]);
          expect(await db.effects()).toEqual(["works"]);
          const { rows } = await db.query("SELECT attempt FROM jobs");
          expect(rows).toEqual([{ attempt: 2 }]);
        });
      }
    }
  });
});
