import { inboxHeaders, inboxMessage } from "../../../src/broker/inbox-headers.ts";
import { c } from "../../../src/table/columns.ts";
import { type Equal, expectType } from "../expect-type.ts";

const Mail = inboxHeaders("mail", {
  columns: {
    id: c.bigint().id().generated(),
    topic: c.text().group({ fifo: true }),
    lockedUntil: c.timestamp().lockedUntil(),
    traceId: c.text("trace_id").nullable(),
  },
});
const Signup = inboxMessage({
  headers: Mail,
  columns: { email: c.text(), age: c.integer().nullable() },
});
const Bounce = inboxMessage({
  headers: Mail,
  columns: { address: c.text() },
  custom: {
    async fetch(conn, ids) {
      expectType<Equal<typeof ids, readonly bigint[]>>(true);
      return (await conn.query("SELECT 1", [ids])).rows;
    },
  },
});

const signups = Signup.queue("signups");
expectType<Equal<typeof signups.$message, { email: string; age: number | null }>>(true);
expectType<Equal<typeof signups.$input, never>>(true);
expectType<Equal<(typeof signups.$table)["form"], "lease">>(true);
const all = Bounce.everyGroup();
expectType<Equal<typeof all.$message, { address: string }>>(true);
expectType<
  Equal<
    typeof Mail.$insert,
    {
      id?: bigint | undefined;
      topic: string;
      lockedUntil?: Date | null | undefined;
      traceId?: string | null | undefined;
    }
  >
>(true);
