import type pg from "pg";
import { postgresDialect, type Statement } from "../../../dist/index.mjs";
import { DrainMeter } from "./drain-meter.ts";
import type { Contender } from "./paired-rounds.ts";
import type { DrainSettings } from "./queue-contenders.ts";
import { type Form, fillTable, LEFT, QUEUE, tables } from "./queue-tables.ts";

interface Claimed {
  readonly id: string;
  readonly token: string | null;
  readonly attempt: string;
  readonly lock?: string;
  readonly c0: string;
}

type Run = (
  client: pg.PoolClient,
  values?: Readonly<Record<string, unknown>>,
) => Promise<Claimed[]>;

/** One turn of a task: claims, hands over, settles; answers how many rows it had. */
type Turn = (client: pg.PoolClient, handle: (rows: readonly Claimed[]) => void) => Promise<number>;

const LEASE_MS = 30_000;

/**
 * What a careful team writes by hand, with the library's own statements: as many tasks as slots, each with
 * a connection, statements named so that they are planned once, one statement alone in its transaction
 * without BEGIN and COMMIT around it.
 */
export function loopContender(name: string, pool: pg.Pool, settings: DrainSettings): Contender {
  const { form, rows, slots } = settings;
  const turn = turns[form](settings);
  return {
    name,
    prepare: () => fillTable(pool, form, rows),
    async run() {
      const meter = new DrainMeter(pool, LEFT, rows);
      const handle = (claimed: readonly Claimed[]) => {
        for (const row of claimed) JSON.parse(row.c0);
        meter.handle(claimed.length);
      };
      const task = async () => {
        const client = await pool.connect();
        try {
          // Another task's rows are settled by it: nobody need wait for them.
          while ((await turn(client, handle)) > 0 || !meter.isOver) {}
        } finally {
          client.release();
        }
      };
      const tasks = Promise.all(Array.from({ length: slots }, task));
      const ms = await meter.drained();
      await tasks;
      return ms;
    },
  };
}

const turns: { readonly [form in Form]: (settings: DrainSettings) => Turn } = {
  "row lock"(settings) {
    const { ack, claim } = statementsOf("rowLock", settings);
    return async (client, handle) => {
      await client.query("BEGIN");
      const rows = await claim(client);
      if (rows.length === 0) {
        await client.query("ROLLBACK");
        return 0;
      }
      handle(rows);
      await ack(client, fence(rows));
      await client.query("COMMIT");
      return rows.length;
    };
  },
  lease(settings) {
    const { ack, claim } = statementsOf("lease", settings);
    return async (client, handle) => {
      const rows = await claim(client);
      if (rows.length === 0) return 0;
      handle(rows);
      await ack(client, fence(rows));
      return rows.length;
    };
  },
  "advisory lock"(settings) {
    const { ack, claim, unlock } = statementsOf("advisoryLock", settings);
    return async (client, handle) => {
      const rows = await claim(client);
      if (rows.length === 0) return 0;
      handle(rows);
      await ack(client, fence(rows));
      for (const { lock } of rows) await unlock(client, { lock });
      return rows.length;
    };
  },
};

function statementsOf(
  form: "rowLock" | "lease" | "advisoryLock",
  { batch = 1, form: table, slots }: DrainSettings,
): { readonly claim: Run; readonly ack: Run; readonly unlock: Run } {
  const { description } = tables[table];
  const payload = description.columns.filter(({ property }) => property === "payload");
  const settings = { columns: payload, groups: "one", mostRows: slots * batch } as const;
  const built = postgresDialect[form]?.(description, { ...settings, leaseMs: LEASE_MS });
  if (built === undefined) throw new Error(`the dialect does not build ${form}`);
  const claim = named(built.claim);
  return {
    claim: (client) => claim(client, { limit: batch, leaseMs: LEASE_MS, group: QUEUE }),
    ack: named(built.ack),
    unlock: named(UNLOCK),
  };
}

const UNLOCK: Statement = {
  text: "SELECT pg_advisory_unlock($1::text::bigint) AS released",
  params: ["lock"],
};

let names = 0;

function named({ params, text }: Statement): Run {
  names += 1;
  const name = `loop-${names}`;
  return async (client, values = {}) => {
    const { rows } = await client.query<Claimed & pg.QueryResultRow>({
      name,
      text,
      values: params.map((param) => values[param]),
    });
    return rows;
  };
}

function fence(rows: readonly Claimed[]) {
  return {
    ids: rows.map(({ id }) => id),
    tokens: rows.map(({ token }) => token),
    attempts: rows.map(({ attempt }) => attempt),
  };
}
