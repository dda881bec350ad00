import { setTimeout } from "node:timers/promises";
import type { Relay } from "./mailer.ts";
import type { Mail } from "./tables.ts";

/** Stands in for a mail provider: too busy for the first two mails that it gets for an address at busy.example. */
export class FakeRelay implements Relay {
  readonly delivered = new Map<string, Mail>();
  readonly #refusals = new Map<string, number>();

  async send(mail: Mail, key: string, signal: AbortSignal): Promise<"sent" | "no such mailbox"> {
    await setTimeout(20, undefined, { signal });
    if (mail.to.startsWith("nobody@")) return "no such mailbox";
    const refusals = this.#refusals.get(key) ?? 0;
    if (mail.to.endsWith("@busy.example") && refusals < 2) {
      this.#refusals.set(key, refusals + 1);
      throw new Error("421 too many connections, try again later");
    }
    this.delivered.set(key, mail);
    return "sent";
  }
}
