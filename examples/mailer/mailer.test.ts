import { testBroker } from "intray/testing";
import { describe, expect, test } from "vitest";
import { forEachTarget, type Open, type Target } from "../../test/support/sources.ts";
import { FakeRelay } from "./fake-relay.ts";
import { type Relay, subscribeMailer } from "./mailer.ts";
import { EmailJobs, emails, failedEmails } from "./tables.ts";

const mail = { to: "ada@example.com", subject: "Welcome", text: "Good to have you here." };

describe("the mailer", () => {
  // In a service of yours: a PGlite, a SQLite in memory, or a database of the tests' own.
  forEachTarget({ connections: "one" }, (target, open) => {
    const start = (relay: Relay) => startOn(target, open, relay);

    test("sends a mail", async () => {
      const relay = new FakeRelay();
      await using mailer = await start(relay);
      const id = await mailer.publish(emails, mail);
      expect([...relay.delivered]).toEqual([[`email-${id}`, mail]]);
    });

    test("sends it again, later and later, while the relay is busy", async () => {
      const relay = new FakeRelay();
      await using mailer = await start(relay);
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
      await using mailer = await start({ send: () => Promise.reject(broken) });
      await mailer.publish(emails, mail);
      for (let attempt = 2; attempt <= 5; attempt++) await mailer.advance("10s");
      expect(mailer.calls(emails)).toHaveLength(4);
      expect(mailer.deadLetters(emails)).toMatchObject([{ reason: broken }]);
    });

    test("sets aside what can never be sent, and says why", async () => {
      await using mailer = await start(new FakeRelay());
      await mailer.publish(emails, { ...mail, to: "nobody@example.com" });
      await EmailJobs.insert(
        mailer.source,
        { queue: "emails", payload: { to: "ada" } },
        { database: target.dialect.name },
      );
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

async function startOn({ dialect }: Target, open: Open, relay: Relay) {
  const { query, source } = await open();
  for (const statement of EmailJobs.ddl(dialect.name)) await query(statement);
  const broker = await testBroker(source, (to) => subscribeMailer(to, relay), { dialect });
  return { ...broker, source, query: async (text: string) => (await query(text)).rows };
}
