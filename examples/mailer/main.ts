import { Broker, deadLetters } from "intray";
import { openDatabase } from "../database.ts";
import { FakeRelay } from "./fake-relay.ts";
import { subscribeMailer } from "./mailer.ts";
import { EmailJobs, emails, failedEmails } from "./tables.ts";

const database = await openDatabase("mailer");
for (const statement of EmailJobs.ddl("postgres")) await database.query(statement);

const broker = new Broker(database.source, { logger: console });
subscribeMailer(broker, new FakeRelay());

// Four mails, as a service publishes them, and a row that another program got wrong.
const text = "Good to have you here.";
await broker.publish(emails, { to: "ada@example.com", subject: "Welcome, Ada", text });
await broker.publish(emails, { to: "grace@busy.example", subject: "Welcome, Grace", text });
await broker.publish(emails, { to: "nobody@example.com", subject: "Welcome, whoever", text });
await broker.publish(
  emails,
  { to: "ada@example.com", subject: "How do you like it?", text },
  { delay: "3s" },
);
await EmailJobs.insert(database.source, { queue: "emails", payload: { to: "ada" } });

// It works until Ctrl-C, and stops in good order.
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
await broker.run({ signal: stop.signal });

console.log("\nGiven up:");
for (const { id, reason } of await deadLetters(database.source, failedEmails).list()) {
  console.log(`- row ${id}: ${reason}`);
}
await database.close();
