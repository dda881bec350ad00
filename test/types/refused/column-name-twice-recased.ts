import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  casing: "snake_case",
  columns: {
    id: c.bigint().id(),
    // expect: another column is named sort_key too: give one of them another name
    sortKey: c.text(),
    // expect: another column is named sort_key too: give one of them another name
    key: c.text("sort_key"),
  },
});
