import * as v from "zod";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { Columns } from "../../../src/table/column.ts";
import { c } from "../../../src/table/columns.ts";
import { type Equal, expectType } from "../expect-type.ts";

interface Job {
  readonly kind: string;
}

const Jobs = inboxTable("Job queue", {
  schema: "app",
  casing: "snake_case",
  isolation: "repeatableRead",
  clock: () => new Date(),
  columns: {
    jobId: c.uuid().id(),
    shard: c.integer().group({ fifo: "strict" }),
    customer: c.bigint().partitionKey(),
    urgency: c.smallint().priority().nullable(),
    notBefore: c.timestamp().retryAfter().nullable(),
    tries: c.integer().attempt({ from: 0 }).generated(),
    lockedUntil: c.timestamp().lockedUntil(),
    doneAt: c.timestamp().processedAt(),
    meta: c.json<Record<string, string>>().headers().nullable(),
    body: c.json<Job>().payload(),
    sum: c.decimal(),
    hash: c.bytes().generatedAlways(),
    area: c.custom("area", { decode: (raw) => Number(raw), encode: (value: number) => `${value}` }),
    ready: c.boolean().generated(),
  },
  custom: {
    claim: {
      async postgres(conn, { group, limit }) {
        expectType<Equal<typeof group, number>>(true);
        expectType<Equal<typeof limit, number>>(true);
        await conn.query("SELECT 1");
        return ["1"];
      },
    },
    extend: async (_conn, id, held, until) => {
      expectType<Equal<typeof id, string>>(true);
      return held < until;
    },
  },
});

expectType<
  Equal<
    typeof Jobs.$row,
    {
      jobId: string;
      shard: number;
      customer: bigint;
      urgency: number | null;
      notBefore: Date | null;
      tries: number;
      lockedUntil: Date | null;
      doneAt: Date | null;
      meta: Record<string, string> | null;
      body: Job;
      sum: string;
      hash: Uint8Array;
      area: number;
      ready: boolean;
    }
  >
>(true);
// @ts-expect-error the database alone writes it
const _written: (typeof Jobs.$insert)["hash"] = new Uint8Array();

const shard = Jobs.queue(7);
expectType<Equal<typeof shard.$message, unknown>>(true);
const every = Jobs.everyGroup({ payload: v.object({ at: v.coerce.date<string>() }) });
expectType<Equal<typeof every.$message, { at: Date }>>(true);
// Messages are written to the queue of one group.
expectType<Equal<typeof every.$input, never>>(true);
const coded = Jobs.queue(8, {
  payload: {
    decode: (stored: string) => Number(stored),
    encode: (message: number) => `${message}`,
  },
});
expectType<Equal<typeof coded.$message, number>>(true);
expectType<Equal<typeof coded.$input, number>>(true);

const Locked = inboxTable("locked", {
  advisoryLock: "locked-{id}-{kind}",
  columns: { id: c.bigint().id(), kind: c.text().group() },
  custom: {
    lock: async (_conn, key) => key !== "",
    unlock: async (_conn, key) => key !== "",
  },
});
const locked = Locked.queue("a");
expectType<Equal<(typeof locked.$table)["form"], "advisoryLock">>(true);

export async function writes(conn: object) {
  const one = await Locked.insert(conn, { id: 1n, kind: "a" });
  expectType<Equal<typeof one, bigint>>(true);
  const many = await Locked.insert(conn, [{ id: 1n, kind: "a" }]);
  expectType<Equal<typeof many, readonly bigint[]>>(true);
  await coded.insert(conn, 5, { delay: "30s" });
}

// What a program finds out only when it runs is checked then.
declare const name: string;
inboxTable(name, { schema: name, advisoryLock: name, columns: { id: c.bigint(name).id() } });

// So is a table whose columns are found at run time.
declare const found: Columns;
const Found = inboxTable(name, { columns: found });
Found.queue("a");
Found.queue();
Found.everyGroup();
