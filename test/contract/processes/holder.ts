/** A service's process with a broker whose handlers hold their rows until it is killed, or kill it. */
import { Broker } from "../../../src/broker/broker.ts";
import { connectAs } from "./connect.ts";
import { endWithTest } from "./ending.ts";
import { holderTables } from "./holder-tables.ts";
import type { HolderSays, HolderSettings } from "./protocol.ts";

const settings: HolderSettings = JSON.parse(process.argv[2] ?? "");
endWithTest();

const { source } = connectAs(settings.kind, settings.url, settings.connections);
if (source.database === undefined) Object.assign(source, { database: "postgres" });
const broker = new Broker(source, { pollIntervalMs: 20, leaseMs: settings.leaseMs });
const Jobs = holderTables[settings.table];
broker.subscribe(
  Jobs.queue("a"),
  { workers: 2, maxAttempts: 2, deadLetter: Jobs.queue("dead") },
  async (message, { attempt }) => {
    if (message === "kills") process.kill(process.pid, "SIGKILL");
    const said: HolderSays = { say: "holds", message: String(message), attempt };
    process.send?.(said);
    await new Promise(() => {});
  },
);
await broker.start();
