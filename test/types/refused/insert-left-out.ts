import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

const Jobs = inboxTable("jobs", { columns: { id: c.bigint().id(), kind: c.text().group() } });

export async function write(conn: object) {
  // expect: No overload matches this call
  await Jobs.insert(conn, { id: 1n });
}
