import { shown } from "../options.ts";
import { ack, isOutcome, type Outcome } from "../outcome.ts";

/**
 * A handler's answer as one outcome a row.
 *
 * @throws TypeError where it is neither nothing, an outcome, nor (of a batch) one outcome a row.
 */
export function outcomesOf(
  answer: unknown,
  rows: number,
  isBatch: boolean,
  refusal: (outcome: Outcome) => string | undefined,
): Outcome[] {
  if (isBatch && Array.isArray(answer)) {
    if (answer.length !== rows) {
      throw new TypeError(
        `the handler answered ${answer.length} outcomes for ${rows} messages: it takes one for all, or one for each`,
      );
    }
    return answer.map((each: unknown) => outcomeOf(each, refusal));
  }
  return Array.from({ length: rows }, () => outcomeOf(answer, refusal));
}

function outcomeOf(answer: unknown, refusal: (outcome: Outcome) => string | undefined): Outcome {
  if (answer === undefined || answer === null) return ack();
  if (!isOutcome(answer)) {
    throw new TypeError(
      `a handler returns nothing, ack(), retry(), retryAfter(delay), drop() or deadLetter(reason), not ${shown(answer)}`,
    );
  }
  const why = refusal(answer);
  if (why !== undefined) throw new TypeError(why);
  return answer;
}
