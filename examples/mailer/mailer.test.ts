import { postgresDialect } from "intray";
import { testBroker } from "intray/testing";
import { describe, expect, test } from "vitest";
import { forEachSource, type Open } from "../../test/support/sources.ts";
import { FakeRelay } from "./fake-relay.ts";
import { type Relay, subscribeMailer } from "./mailer.ts";
import { EmailJobs, emails, failedEmails } from "./tables.ts";

const mail = { to: "ada@example.com", subject: "Welcome", text: "Good to have you here." };

describe("the mailer", () => {
  // In a service of yours: a PGlite, or a database of the tests' own.
  forEachSource({ connections: "one" }, (_name, open) => {
    test("sends a mail", async () => {
      const relay = new FakeRelay();
      await using mailer = await start(open, relay);
      const id = await mailer.publish(emails, mail);
      expect([...relay.delivered]).toEqual([[`email-${id}`, mail]]);
    });

    test("sends it again, later and later, while the relay is busy", async () => {
      const relay = new FakeRelay();
      await using mailer = await start(open, relay);
      await mailer.publish(emails, { ...mail, to: "grace@busy.example" });
      expect(mailer.calls(emails)).toMatchObject([{ attempt: 1, outcome: "retryAfter" }]);
      await mailer.advance("1s");
      await mailer.advance("2s");
      expect(mailer.calls(emails)).toMatchObject([
        { attempt: 1, outcome: "retryAfter" },
        { attempt: 2, outcome: "retryAfter" },
        { attempt: 3, outcome: "ack" },
      ]);
      expect(relay.delivered.size).toBe(1);
    });

    test("gives a mail up after four attempts", async () => {
      const broken = new Error("554 out of order");
      await using mailer = await start(open, { send: () => Promise.reject(broken) });
      await mailer.publish(emails, mail);
      for (let attempt = 2; attempt <= 5; attempt++) await mailer.advance("10s");
      expect(mailer.calls(emails)).toHaveLength(4);
      expect(mailer.deadLetters(emails)).toMatchObject([{ reason: broken }]);
    });

    test("sets aside what can never be sent, and says why", async () => {
      await using mailer = await start(open, new FakeRelay());
      await mailer.publish(emails, { ...mail, to: "nobody@example.com" });
      await EmailJobs.insert(mailer.source, { queue: "emails", payload: { to: "ada" } }, POSTGRES);
      await mailer.settled();
      expect(mailer.calls(emails)).toHaveLength(1); // the other one is no mail
      const rows = await mailer.query("SELECT queue, last_error FROM email_jobs ORDER BY id");
      expect(rows).toEqual([
        { queue: failedEmails.name, last_error: "no such mailbox" },
        { queue: failedEmails.name, last_error: expect.stringContaining("Invalid email address") },
      ]);
    });
  });
});

const POSTGRES = { database: "postgres" } as const;

async function start(open: Open, relay: Relay) {
  const { query, source } = await open();
  for (const statement of EmailJobs.ddl("postgres")) await query(statement);
  const options = { dialect: postgresDialect };
  const broker = await testBroker(source, (to) => subscribeMailer(to, relay), options);
  return { ...broker, source, query: async (text: string) => (await query(text)).rows };
}
