/** A service's process that writes messages, as a test runs it; see protocol.ts. */
import pg from "pg";
import { endWell, endWithTest } from "./ending.ts";
import type { ProducerSays, ProducerSettings } from "./protocol.ts";

const settings: ProducerSettings = JSON.parse(process.argv[2] ?? "");
let written = 0;
endWithTest();

await Promise.all(Array.from({ length: settings.producers }, (_, index) => produce(index)));
const done: ProducerSays = { say: "done", messages: written };
process.send?.(done);
endWell();

async function produce(producer: number): Promise<void> {
  const client = new pg.Client({ connectionString: settings.url, application_name: "producer" });
  await client.connect();
  for (let sequence = 0; written < settings.messages; sequence += 1) {
    written += 1;
    const aggregate =
      settings.aggregate === "own" ? producer : Math.floor(settings.aggregates * Math.random());
    await client.query("BEGIN");
    await client.query(
      `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption)
      VALUES ($1, $2, $3, '{}', 'pull')`,
      [settings.source, `${producer}:${sequence}`, `aggregate-${aggregate}`],
    );
    await pause(settings.holdMs * Math.random());
    await client.query("COMMIT");
    if (sequence % 4 === 0) await untilFewWait(client);
  }
  await client.end();
}

async function untilFewWait(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ waiting: number }>(
      "SELECT count(*)::int AS waiting FROM inbox WHERE source = $1 AND consumption = 'pull' AND state = 'pending'",
      [settings.source],
    );
    if ((rows[0]?.waiting ?? 0) <= settings.mostWaiting) return;
    await pause(2);
  }
}

/** A time of nothing is no time: 0 to 8 ms means that some commit at once. */
function pause(ms: number): Promise<void> {
  return ms < 0.5 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}
