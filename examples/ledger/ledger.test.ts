import { readFile } from "node:fs/promises";
import { postgresDialect } from "intray";
import { testBroker } from "intray/testing";
import { describe, expect, test } from "vitest";
import { forEachSource, type Open } from "../../test/support/sources.ts";
import { subscribeLedger } from "./ledger.ts";
import { transfers } from "./tables.ts";

const REFUSED = "SELECT payer, payee, amount::int, reason FROM refused_transfers";
const OPEN = "SELECT id FROM transfers WHERE made_at IS NULL";

describe("the ledger", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    test("moves money, and writes the books", async () => {
      await using ledger = await start(open, { ada: 100, grace: 0 });
      await ledger.publish(transfers, { payer: "ada", payee: "grace", amount: 70n });
      expect(await ledger.balances()).toEqual({ ada: 30, grace: 70 });
      expect(await ledger.query("SELECT account, amount::int FROM entries ORDER BY 1")).toEqual([
        { account: "ada", amount: -70 },
        { account: "grace", amount: 70 },
      ]);
    });

    test("refuses a transfer that is not covered, or leads nowhere", async () => {
      await using ledger = await start(open, { ada: 100, grace: 0 });
      await ledger.publish(transfers, { payer: "ada", payee: "grace", amount: 101n });
      await ledger.publish(transfers, { payer: "ada", payee: "nobody", amount: 1n });
      expect(await ledger.balances()).toEqual({ ada: 100, grace: 0 });
      expect(await ledger.query(`${REFUSED} ORDER BY id`)).toEqual([
        { payer: "ada", payee: "grace", amount: 101, reason: "insufficient funds" },
        { payer: "ada", payee: "nobody", amount: 1, reason: "no such account" },
      ]);
    });

    test("loses and doubles nothing where many transfers meet", async () => {
      await using ledger = await start(open, { ada: 100, grace: 100, linus: 100 });
      await transfers.insert(ledger.source, circles(20), { database: "postgres" });
      do await ledger.advance("10s");
      while ((await ledger.query(OPEN)).length > 0);

      const { ada = 0, grace = 0, linus = 0 } = await ledger.balances();
      expect(ada + grace + linus).toBe(300);
      const made = ledger.calls(transfers).filter(({ outcome }) => outcome === "ack").length;
      const refused = (await ledger.query(REFUSED)).length;
      expect(made + refused).toBe(60);
      // The books say the same as the accounts, and hold each transfer once.
      expect(
        await ledger.query(`
          SELECT count(DISTINCT transfer)::int AS transfers, count(*)::int AS entries, sum(amount)::int AS sum
          FROM entries`),
      ).toEqual([{ transfers: made, entries: 2 * made, sum: 0 }]);
      expect(
        await ledger.query(`
          SELECT id FROM accounts
          WHERE balance <> 100 + (SELECT coalesce(sum(amount), 0) FROM entries WHERE account = accounts.id)`),
      ).toEqual([]);
    });
  });
});

/** Transfers in circles: each meets the ones before and after it. */
function circles(count: number) {
  const names = ["ada", "grace", "linus", "ada"] as const;
  return Array.from({ length: 3 * count }, (_, index) => ({
    payer: names[index % 3] ?? "",
    payee: names[(index % 3) + 1] ?? "",
    amount: BigInt(1 + ((index * 17) % 90)),
  }));
}

async function start(open: Open, accounts: Readonly<Record<string, number>>) {
  const { query, source } = await open();
  const rows = async (text: string) => (await query(text)).rows;
  await query(await readFile(new URL("schema.sql", import.meta.url), "utf8"));
  for (const [id, balance] of Object.entries(accounts)) {
    await query("INSERT INTO accounts VALUES ($1, $2)", [id, balance]);
  }
  const broker = await testBroker(source, subscribeLedger, { dialect: postgresDialect });
  const balances = async (): Promise<Record<string, number>> => {
    const { rows: all } = await query<{ id: string; balance: number }>(
      "SELECT id, balance::int FROM accounts",
    );
    return Object.fromEntries(all.map(({ id, balance }) => [id, balance]));
  };
  return { ...broker, source, query: rows, balances };
}
