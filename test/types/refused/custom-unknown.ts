import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  custom: {
    // expect: custom has no event of this name: there are claim, fetch, ack, retry, discard, retryAfter, deadLetter, extend, lock or unlock
    acknowledge: async () => {},
  },
  columns: {
    id: c.bigint().id(),
  },
});
