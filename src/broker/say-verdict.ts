import { DecodeError } from "../errors.ts";
import type { Verdict } from "../form/reaction.ts";
import type { Log } from "../log.ts";

/** What failed is said once the database has said what becomes of it. */
export function sayVerdict(log: Log, verdict: Verdict, fields: Record<string, unknown>): void {
  const { kind, reason: error } = verdict;
  const line = { ...fields, error };
  if (kind === "deadLetter") {
    log.error("the message is given up and goes to the dead letter", { event: "dead", ...line });
    return;
  }
  if (error === undefined) return;
  if (kind === "retry" || kind === "retryAfter") {
    const delayMs = kind === "retryAfter" ? verdict.delayMs : undefined;
    log.warn("the message failed and comes again", { event: "retried", ...line, delayMs });
  } else if (!(error instanceof DecodeError)) {
    log.warn("the message failed and its policy lets it go", { event: "dropped", ...line });
  }
}
