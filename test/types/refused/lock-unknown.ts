import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: advisoryLock has a placeholder {job_id}, and there is no such property in columns
  advisoryLock: "jobs-{job_id}",
  columns: {
    jobId: c.bigint("job_id").id(),
  },
});
