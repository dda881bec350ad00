import { c, inboxTable } from "intray";

/** The columns that the queue shares with its refused rows. */
const transfer = { payer: c.text(), payee: c.text(), amount: c.bigint() };

/** The queue's table, as schema.sql makes it. It has no payload: a message is the row. */
const Transfers = inboxTable("transfers", {
  casing: "snake_case",
  // Of two handlers that read the same balance one writes it; the other fails, and comes again.
  isolation: "repeatableRead",
  columns: {
    id: c.bigint().id().generated(),
    ...transfer,
    attempt: c.smallint().attempt().generated(),
    dueAt: c.timestamp().nullable().retryAfter(),
    lockedUntil: c.timestamp().lockedUntil(),
    madeAt: c.timestamp().processedAt(),
  },
});

export const transfers = Transfers.queue();

/** Where refused transfers go; each keeps its id. */
export const RefusedTransfers = inboxTable("refused_transfers", {
  columns: { id: c.bigint().id(), ...transfer, reason: c.text().nullable() },
});
