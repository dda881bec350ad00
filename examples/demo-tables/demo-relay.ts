import { FakeRelay } from "../mailer/fake-relay.ts";
import type { Mail } from "../mailer/tables.ts";

/** The mailer's, with a mail server behind it that is down for good. */
export class DemoRelay extends FakeRelay {
  readonly #refused = new Set<string>();

  /** Mails that it refused at least once, whatever became of them. */
  get refusedMails(): number {
    return this.#refused.size;
  }

  override async send(mail: Mail, key: string, signal: AbortSignal) {
    try {
      if (mail.to.endsWith("@down.example")) throw new Error("451 down.example does not answer");
      return await super.send(mail, key, signal);
    } catch (error) {
      if (!signal.aborted) this.#refused.add(key);
      throw error;
    }
  }
}
