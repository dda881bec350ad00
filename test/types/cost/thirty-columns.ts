import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

export const Jobs = inboxTable("jobs", {
  schema: "app",
  casing: "snake_case",
  columns: {
    jobId: c.bigint().id().generated(),
    topic: c.text().group({ fifo: true }),
    customerKey: c.text().partitionKey(),
    urgency: c.smallint().priority().nullable(),
    notBefore: c.timestamp().retryAfter().nullable(),
    attempt: c.smallint().attempt().generated(),
    lockedUntil: c.timestamp().lockedUntil(),
    processedAt: c.timestamp().processedAt(),
    headers: c.json<Record<string, string>>().headers().nullable(),
    payload: c.json<{ to: string }>().payload(),
    somewhatLongNameA: c.text(),
    somewhatLongNameB: c.integer().nullable(),
    somewhatLongNameC: c.bigint(),
    somewhatLongNameD: c.timestamp().nullable(),
    somewhatLongNameE: c.boolean(),
    somewhatLongNameF: c.uuid().nullable(),
    somewhatLongNameG: c.decimal(),
    somewhatLongNameH: c.bytes().nullable(),
    somewhatLongNameI: c.smallint(),
    somewhatLongNameJ: c.text().nullable(),
    somewhatLongNameK: c.integer(),
    somewhatLongNameL: c.bigint().nullable(),
    somewhatLongNameM: c.timestamp(),
    somewhatLongNameN: c.boolean().nullable(),
    somewhatLongNameO: c.uuid(),
    somewhatLongNameP: c.decimal().nullable(),
    somewhatLongNameQ: c.bytes(),
    somewhatLongNameR: c.smallint().nullable(),
    somewhatLongNameS: c.text(),
    somewhatLongNameT: c.integer().nullable(),
  },
});

export const queue = Jobs.queue("a");

export const to = (row: typeof Jobs.$row, insert: typeof Jobs.$insert) => [
  row.payload.to,
  insert.payload.to,
];

export const write = (conn: object, insert: typeof Jobs.$insert) => Jobs.insert(conn, insert);
