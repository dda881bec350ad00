import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { isOutcome, type Outcome } from "../outcome.ts";
import { orAbort, timeLimit } from "../time-limit.ts";
import type { HandlerContext } from "./context.ts";

/** Decides about a message that failed: an outcome that is always the same, or a function. */
export type FailurePolicy =
  | Outcome
  | ((error: unknown, context: HandlerContext) => Outcome | Promise<Outcome>);

/** What a subscription's policies are asked with. */
export interface PolicySettings {
  readonly clock: Clock;
  readonly log: Log;
  readonly fields: Record<string, unknown>;
  /** How long a policy may take. */
  readonly limitMs: number;
}

/**
 * What the policy says; what `fallback` says where there is none, or where it throws, does not answer in
 * time or answers nonsense.
 *
 * @param why says what keeps the policy's outcome from being carried out, if anything does.
 */
export async function decide(
  policy: FailurePolicy | undefined,
  fallback: () => Outcome,
  error: unknown,
  context: HandlerContext,
  why: (outcome: Outcome) => string | undefined,
  settings: PolicySettings,
): Promise<Outcome> {
  if (policy === undefined) return fallback();
  let problem: unknown;
  try {
    const outcome =
      typeof policy === "function" ? await asked(policy, error, context, settings) : policy;
    if (isOutcome(outcome)) {
      const refusal = why(outcome);
      if (refusal === undefined) return outcome;
      problem = new TypeError(refusal);
    } else {
      problem = new TypeError(
        "it answered none of ack(), retry(), retryAfter(delay), drop(), deadLetter(reason)",
      );
    }
  } catch (thrown) {
    problem = thrown;
  }
  settings.log.error("a failure policy failed; the default decides", {
    event: "policy_failed",
    ...settings.fields,
    id: context.id,
    error: problem,
  });
  return fallback();
}

async function asked(
  policy: Exclude<FailurePolicy, Outcome>,
  error: unknown,
  context: HandlerContext,
  { clock, limitMs }: PolicySettings,
): Promise<unknown> {
  const limit = timeLimit(clock, limitMs, "the failure policy did not answer in time");
  try {
    return await orAbort(Promise.resolve(policy(error, context)), limit.signal);
  } finally {
    limit.cancel();
  }
}
