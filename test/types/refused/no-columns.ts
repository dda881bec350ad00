import { inboxTable } from "../../../src/broker/inbox-table.ts";

// expect: Property 'columns' is missing
inboxTable("jobs", {});
