import { z } from "zod";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { Columns } from "../../../src/table/column.ts";
import { c } from "../../../src/table/columns.ts";
import { type Equal, expectType } from "../expect-type.ts";

export const EmailJobs = inboxTable("email_jobs", {
  schema: "app",
  columns: {
    jobId: c.bigint("job_id").id().generated(),
    name: c.text().group(),
    attempt: c.smallint().attempt().generated(),
    payload: c.bytes().payload(),
  },
});

export const emails = EmailJobs.queue("emails", { payload: z.object({ to: z.string() }) });

expectType<
  Equal<
    typeof EmailJobs.$row,
    { jobId: bigint; name: string; attempt: number; payload: Uint8Array }
  >
>(true);
expectType<
  Equal<
    typeof EmailJobs.$insert,
    {
      jobId?: bigint | undefined;
      name: string;
      attempt?: number | undefined;
      payload: Uint8Array;
    }
  >
>(true);
expectType<Equal<typeof emails.$message, { to: string }>>(true);
expectType<Equal<typeof emails.$input, { to: string }>>(true);

/** A factory adds columns to a caller's own. */
function jobTable<C extends Columns>(name: string, columns: C) {
  return inboxTable(name, {
    columns: { id: c.uuid().id(), due: c.timestamp().retryAfter().nullable(), ...columns },
  });
}

const Jobs = jobTable("jobs", { to: c.text(), size: c.decimal().nullable() });

expectType<
  Equal<typeof Jobs.$row, { id: string; due: Date | null; to: string; size: string | null }>
>(true);

// Without a payload column the messages are the rows.
const jobs = Jobs.queue({ name: "jobs" });
expectType<Equal<typeof jobs.$message, typeof Jobs.$row>>(true);
