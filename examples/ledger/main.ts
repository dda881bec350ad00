import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { Broker } from "intray";
import { openDatabase } from "../database.ts";
import { subscribeLedger } from "./ledger.ts";
import { transfers } from "./tables.ts";

const database = await openDatabase("ledger");
await database.query(await readFile(new URL("schema.sql", import.meta.url), "utf8"));
await database.query(`
  INSERT INTO accounts VALUES ('ada', 100), ('grace', 100), ('linus', 100), ('margaret', 100)
  ON CONFLICT DO NOTHING`);
const before = await money();

// A hundred transfers between four accounts, of more than they have.
const names = ["ada", "grace", "linus", "margaret"];
const orders = Array.from({ length: 100 }, () => {
  const [payer = "", payee = ""] = names.toSorted(() => Math.random() - 0.5);
  return { payer, payee, amount: BigInt(1 + Math.floor(Math.random() * 80)) };
});
await transfers.insert(database.source, orders);

const broker = new Broker(database.source);
const ledger = subscribeLedger(broker);
await broker.start();
const waiting = "SELECT 1 FROM transfers WHERE made_at IS NULL LIMIT 1";
while ((await database.query(waiting)).length > 0) await setTimeout(100);
await broker.stop();

const { claimed, settled } = ledger.stats();
const again = claimed - settled.ack - settled.deadLetter;
console.log(`${settled.ack} made, ${settled.deadLetter} refused; ${again} times one met another`);
console.table(await database.query("SELECT id, balance::int FROM accounts ORDER BY id"));
console.log(`money before: ${before}, after: ${await money()}`);
await database.close();

async function money(): Promise<number> {
  const all = "SELECT sum(balance)::int AS money FROM accounts";
  const [row] = await database.query<{ money: number }>(all);
  return row?.money ?? 0;
}
