import { c, inboxTable } from "intray";
import { z } from "zod";

/** What changed about customers. A group is a customer, and each is worked in order. */
export const Changes = inboxTable("crm_changes", {
  casing: "snake_case",
  columns: {
    id: c.bigint().id().generated(),
    // Strict: a change that has to wait keeps its place, and all behind it wait too.
    customer: c.text().group({ fifo: "strict" }),
    attempt: c.smallint().attempt().generated(),
    dueAt: c.timestamp().nullable().retryAfter(),
    lockedUntil: c.timestamp().lockedUntil(),
    headers: c.json().nullable().headers(),
    change: c.json().payload(),
  },
});

const change = z.object({ field: z.string(), value: z.string() });

/** All customers, for the subscription; */
export const everyCustomer = Changes.everyGroup({ payload: change });
/** and one, to write to. */
export const changesOf = (customer: string) => Changes.queue(customer, { payload: change });

/** Changes that the CRM refuses: set aside, so that the customer's later ones go on. */
export const RefusedChanges = inboxTable("crm_changes_refused", {
  columns: {
    id: c.bigint().id(),
    customer: c.text(),
    headers: c.json().nullable().headers(),
    change: c.json().payload(),
    reason: c.text().nullable(),
  },
});
