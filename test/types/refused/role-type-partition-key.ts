import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: a column of type bytes cannot be the partitionKey: that takes smallint, integer, bigint, text, uuid, decimal, boolean or timestamp
    bytesPartitionKey: c.bytes().partitionKey(),
  },
});
