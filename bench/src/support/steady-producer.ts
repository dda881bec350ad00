/**
 * A thread that writes messages at a steady pace and notes when each commit was answered: a thread of its
 * own, so that handlers and producer do not wait for each other.
 */
import { parentPort, workerData } from "node:worker_threads";
import pg from "pg";
import { PgBoss } from "pg-boss";
import { QUEUE } from "./queue-tables.ts";

export interface ProducerTask {
  readonly url: string;
  readonly messages: number;
  readonly everyMs: number;
  /** A statement with the message's number as $1, or pg-boss's own `send`. */
  readonly insert: string | "pg-boss";
}

const { everyMs, insert, messages, url }: ProducerTask = workerData;

/** Milliseconds of one clock for all threads of the process. */
const now = () => performance.timeOrigin + performance.now();

const { end, write } = insert === "pg-boss" ? await bossWriter() : await sqlWriter(insert);
const answeredAt: number[] = [];
const startedAt = now();
for (let n = 0; n < messages; n += 1) {
  const waitMs = startedAt + n * everyMs - now();
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  await write(n);
  answeredAt[n] = now();
}
await end();
parentPort?.postMessage(answeredAt);

async function sqlWriter(text: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    write: (n: number) => client.query({ name: "write", text, values: [n] }),
    end: () => client.end(),
  };
}

async function bossWriter() {
  const boss = new PgBoss({ connectionString: url, max: 1, supervise: false, schedule: false });
  await boss.start();
  return {
    write: (n: number) => boss.send(QUEUE, { n }),
    end: () => boss.stop(),
  };
}
