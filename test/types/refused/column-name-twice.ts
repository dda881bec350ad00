import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: another column is named kind too: give one of them another name
    kind: c.text(),
    // expect: another column is named kind too: give one of them another name
    sort: c.text("kind"),
  },
});
