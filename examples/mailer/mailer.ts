import { type Broker, deadLetter } from "intray";
import { emails, failedEmails, type Mail } from "./tables.ts";

/** Whatever delivers mails: a provider's API, an SMTP server. */
export interface Relay {
  /**
   * Throws where it could not take the mail now. It knows a mail by its key, and delivers it once however often
   * it gets it.
   */
  send(mail: Mail, key: string, signal: AbortSignal): Promise<"sent" | "no such mailbox">;
}

export function subscribeMailer(broker: Broker, relay: Relay): void {
  broker.subscribe(
    emails,
    {
      workers: 4,
      // A throw is bad luck: again after about 0.5, 1 and 2 seconds, then it is given up.
      retry: { baseDelayMs: 500, maxDelayMs: 60_000 },
      maxAttempts: 4,
      deadLetter: failedEmails,
      // What is no mail today is none tomorrow.
      onFailure: { decode: deadLetter() },
    },
    async (mail, { id, log, signal }) => {
      const answer = await relay.send(mail, `email-${id}`, signal);
      if (answer === "no such mailbox") return deadLetter(answer);
      log.info(`sent "${mail.subject}"`);
    },
  );
}
