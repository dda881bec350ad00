import { Broker } from "intray";
import { openDatabase } from "../database.ts";
import { FakeCrm } from "./fake-crm.ts";
import { subscribeSync } from "./sync.ts";
import { Changes, changesOf, RefusedChanges } from "./tables.ts";

const database = await openDatabase("crm_sync");
for (const statement of [...Changes.ddl("postgres"), ...RefusedChanges.ddl("postgres")]) {
  await database.query(statement);
}

// Every fourth request comes at a bad moment.
let requests = 0;
const crm = new FakeCrm(() => ++requests % 4 === 0, console.log);
const broker = new Broker(database.source);
subscribeSync(broker, await crm.start());

for (const plan of ["trial", "basic", "team", "enterprise"]) {
  for (const customer of ["acme", "globex", "initech"]) {
    const change = { field: "plan", value: plan };
    await changesOf(customer).insert(database.source, change, {
      headers: { traceparent: trace() },
    });
  }
}
await changesOf("acme").insert(database.source, [
  { field: "phone", value: "ask Bob" },
  { field: "phone", value: "+15550100" },
]);

// It works until Ctrl-C, and stops in good order.
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
await broker.run({ signal: stop.signal });

for (const customer of ["acme", "globex", "initech"]) {
  const values = crm.taken.filter((each) => each.customer === customer).map(({ value }) => value);
  console.log(`${customer}: ${values.join(", ")}`);
}
crm.stop();
await database.close();

/** As the W3C writes a trace of no depth. */
function trace(): string {
  const hex = (bytes: number) =>
    Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
  return `00-${hex(16)}-${hex(8)}-01`;
}
