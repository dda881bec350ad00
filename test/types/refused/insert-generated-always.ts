import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

const Jobs = inboxTable("jobs", {
  columns: { id: c.bigint().id().generatedAlways(), kind: c.text() },
});

export async function write(conn: object) {
  // expect: 'id' does not exist in type
  await Jobs.insert(conn, { id: 1n, kind: "a" });
}
