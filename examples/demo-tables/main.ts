/** `npm run demo:tables`: the mailer of ../mailer, as it is, on a SQLite file that is gone at the end. */
import { Broker } from "intray";
import { printOutcomes } from "../../src/cli/demo/print-tables.ts";
import { showProgress } from "../../src/cli/demo/progress.ts";
import { loggerOf, workUntilDone } from "../../src/cli/demo/watch.ts";
import { printLine } from "../../src/cli/output.ts";
import { untilStopped } from "../../src/cli/stop.ts";
import { subscribeMailer } from "../mailer/mailer.ts";
import { EmailJobs, emails } from "../mailer/tables.ts";
import { DemoRelay } from "./demo-relay.ts";
import { brokenPayload, mails } from "./mails.ts";
import { printDeadLetters, printDelivered } from "./print-mails.ts";
import { readStanding } from "./standing.ts";
import { openTemporaryFile, type TemporaryFile } from "./temporary-file.ts";

await untilStopped(async (stop) => {
  const file = openTemporaryFile("mails.db");
  try {
    await play(file, stop);
  } finally {
    file.remove();
  }
  printLine(`\nremoved ${file.path}`);
});

async function play({ path, source }: TemporaryFile, stop: AbortSignal): Promise<void> {
  printLine(`on SQLite, in ${path}`);
  await createTable(source);
  const published = await publish(source);
  const read = () => readStanding(source, published);

  const relay = new DemoRelay();
  const progress = showProgress(published, false);
  const startedAt = performance.now();
  const broker = new Broker(source, { pollIntervalMs: 100, logger: loggerOf(progress) });
  subscribeMailer(broker, relay);
  try {
    await workUntilDone((signal) => broker.run({ signal }), read, progress, stop);
  } finally {
    progress.stop();
  }
  const elapsedMs = Math.round(performance.now() - startedAt);

  const standing = await read();
  if (stop.aborted && standing.waiting > 0) printLine("stopped before the end");
  printOutcomes({ ...standing, retried: relay.refusedMails });
  await printDeadLetters(source);
  printDelivered(relay.delivered.values());
  printLine(`\nin ${elapsedMs} ms`);
}

async function createTable(source: TemporaryFile["source"]): Promise<void> {
  const connection = await source.connect();
  try {
    for (const statement of EmailJobs.ddl("sqlite")) await connection.query(statement);
  } finally {
    await connection.release();
  }
  printLine("made the table email_jobs and the index that its claims read");
}

/** As a service publishes them; one row is what another program got wrong. */
async function publish(source: TemporaryFile["source"]): Promise<number> {
  const ids = await emails.insert(source, mails);
  await EmailJobs.insert(source, { queue: emails.name, payload: brokenPayload });
  printLine(`published ${ids.length} mails, and wrote a row that is no mail`);
  return ids.length + 1;
}
