import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: advisoryLock and group({ fifo }) do not go together: take fifo away and write the group into the key, as in jobs-{kind}
  advisoryLock: "jobs-{id}",
  columns: {
    id: c.bigint().id(),
    kind: c.text().group({ fifo: true }),
  },
});
