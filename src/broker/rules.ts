/**
 * The rules of a subscription, each written once: the types show a sentence at the option at fault, and
 * the run-time check throws it.
 */
export const rules = {
  attempts: "maxAttempts takes a table with a column marked with attempt()",
  attemptsGoSomewhere: "maxAttempts takes the option deadLetter beside it: rows must go somewhere",
  lease: "this takes a table with a lease: mark a column with lockedUntil()",
  key: "workersByKey takes a table with a column marked with partitionKey()",
  keyOrWorkers: "workersByKey stands instead of workers: give one of the two",
  keyOrBatch: "workersByKey takes single messages: leave batch out",
  columnsGoSomewhere: "deadLetterColumns takes the option deadLetter beside it",
} as const;

export type Rule<Name extends keyof typeof rules> = (typeof rules)[Name];
