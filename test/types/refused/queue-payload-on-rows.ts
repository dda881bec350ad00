import { z } from "zod";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

const Jobs = inboxTable("jobs", { columns: { id: c.bigint().id(), kind: c.text().group() } });
// expect: payload is for tables with a payload column: the messages of this one are its rows
Jobs.queue("a", { payload: z.object({}) });
