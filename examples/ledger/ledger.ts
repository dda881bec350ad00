import { type Broker, deadLetter, type Subscription } from "intray";
import { RefusedTransfers, transfers } from "./tables.ts";

/** Reads, decides, writes. What it writes through `tx` commits with the transfer's own row, or not at all. */
export function subscribeLedger(broker: Broker): Subscription {
  return broker.subscribe(
    transfers,
    {
      workers: 4,
      transactional: true,
      deadLetter: RefusedTransfers,
      // Who met another transfer comes again soon; without maxAttempts nobody is refused for bad luck.
      retry: { baseDelayMs: 20, maxDelayMs: 5_000 },
    },
    async ({ id, payer, payee, amount }, { tx }) => {
      const { rows } = await tx.sql<{ id: string; suffices: boolean }>`
        SELECT id, balance >= ${amount} AS suffices FROM accounts WHERE id IN (${payer}, ${payee})`;
      const accounts = new Map(rows.map((account) => [account.id, account]));
      if (accounts.size < 2) return deadLetter("no such account");
      if (accounts.get(payer)?.suffices !== true) return deadLetter("insufficient funds");

      await tx.sql`UPDATE accounts SET balance = balance - ${amount} WHERE id = ${payer}`;
      await tx.sql`UPDATE accounts SET balance = balance + ${amount} WHERE id = ${payee}`;
      await tx.sql`INSERT INTO entries (transfer, account, amount)
        VALUES (${id}, ${payer}, ${-amount}), (${id}, ${payee}, ${amount})`;
    },
  );
}
