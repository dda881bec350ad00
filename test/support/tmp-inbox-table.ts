import { insertRows } from "../../src/broker/insert.ts";
import { insertMessages } from "../../src/broker/messages.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import { describeTable } from "../../src/table/describe.ts";
import { describeEveryGroup, describeQueue } from "../../src/table/describe-queue.ts";
import type { inboxTable as real } from "../../src/broker/inbox-table.ts";
const q = (d: any) => ({
  ...d,
  async insert(conn: unknown, m: unknown, o: any = {}) {
    const ids = await insertMessages(d, conn, Array.isArray(m) ? m : [m], postgres, o);
    return Array.isArray(m) ? ids : ids[0];
  },
});
export const inboxTable = ((name: unknown, options: unknown) => {
  const description = describeTable(name, options);
  return {
    description,
    queue: (...g: unknown[]) => q(describeQueue(description, g)),
    everyGroup: (o: unknown) => q(describeEveryGroup(description, o)),
    async insert(conn: unknown, rows: any, o: any = {}) {
      const ids = await insertRows(description, conn, Array.isArray(rows) ? rows : [rows], { dialect: postgres, ...o });
      return Array.isArray(rows) ? ids : ids[0];
    },
    ddl: (_d: string, o: any) => postgres.ddl(description, o),
  };
}) as any as typeof real;
