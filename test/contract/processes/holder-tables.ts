/** The tables of the program `holder`, and of the tests that run it. */
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

const columns = {
  id: c.bigint().id().generated(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  reason: c.text().nullable(),
  payload: c.text().payload(),
};
const group = { grp: c.text().group() };
const fifoGroup = { grp: c.text().group({ fifo: true }) };
const leased = { lease: c.timestamp().lockedUntil().nullable() };

export const holderTables = {
  rowLock: inboxTable("jobs", { columns: { ...columns, ...group } }),
  lease: inboxTable("jobs", { columns: { ...columns, ...group, ...leased } }),
  advisoryLock: inboxTable("jobs", {
    columns: { ...columns, ...group },
    advisoryLock: "{payload}",
  }),
  rowLockFifo: inboxTable("jobs", { columns: { ...columns, ...fifoGroup } }),
  leaseFifo: inboxTable("jobs", { columns: { ...columns, ...fifoGroup, ...leased } }),
} as const;
