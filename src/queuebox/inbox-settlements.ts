import { pause } from "../clock.ts";
import type { InboxStatement } from "../dialect/inbox-statement.ts";
import { withConnection } from "../driver/checkout.ts";
import type { QueryResult } from "../driver/connection.ts";
import { Backoff } from "../engine/backoff.ts";
import { sanitizeError } from "../error-text.ts";
import { timeLimit } from "../time-limit.ts";
import { type InboxContext, runStatement } from "./inbox-context.ts";
import type { InboxDelivery } from "./inbox-delivery.ts";
import type { InboxFailureAction } from "./types.ts";

/**
 * Records a failure: the message comes again, or is dead. Answers false where the message was not
 * this claim's any more; then nothing was changed.
 *
 * @throws what the statement threw last, when it kept failing for the length of a lease.
 */
export async function settleFailure(
  context: InboxContext,
  delivery: InboxDelivery,
  action: InboxFailureAction,
  failure: unknown,
): Promise<boolean> {
  const { dialect, statements } = context;
  const statement = action.retry ? statements.retry : statements.dead;
  const delayMs = action.retry ? action.delayMs : 0;
  const values = { id: delivery.id, token: delivery.token, delayMs };
  const text = sanitizeError(failure);
  for (const error of [text, asciiOf(text)]) {
    try {
      const run = () => runOnce(context, statement, { ...values, error });
      const isOver = () => delivery.lost !== undefined;
      return (await tryForALease(context, run, isOver)).rowCount === 1;
    } catch (cause) {
      if (!dialect.errors.isUnstorableText(cause)) throw cause;
    }
  }
  const error = "the error's text cannot be stored in this database";
  return (await runOnce(context, statement, { ...values, error })).rowCount === 1;
}

/**
 * What became of a completion whose commit was not answered, told by the database alone: the row as
 * it is once no transaction holds it. `committed` needs proof that nobody else can have settled the
 * message: it is processed, and our lease had not ended when we saw that.
 */
export async function readBack(
  context: InboxContext,
  delivery: InboxDelivery,
): Promise<"committed" | "not committed" | "unknown"> {
  const { ended, options, statements } = context;
  const values = { id: delivery.id, token: delivery.token };
  const run = () =>
    runOnce<{ outcome: ReadBack; state: string | null }>(context, statements.readBack, values);
  const backoff = new Backoff(20, 1000);
  for (;;) {
    const { rows } = await tryForALease(context, run);
    const outcome = rows[0]?.outcome;
    const isProof = options.clock.monotonic() < delivery.heldUntil;
    if (outcome === "ours") return "not committed";
    if (outcome !== "locked") {
      return isProof && rows[0]?.state === "processed" ? "committed" : "unknown";
    }
    if (!isProof || ended.aborted) return "unknown";
    await pause(options.clock, backoff.next(), ended);
  }
}

type ReadBack = "ours" | "locked" | "other" | "gone";

async function runOnce<Row>(
  { options, source }: InboxContext,
  statement: InboxStatement,
  values: Readonly<Record<string, unknown>>,
): Promise<QueryResult<Row>> {
  const limit = timeLimit(
    options.clock,
    options.leaseMs,
    "the settlement was not answered in time",
  );
  try {
    return await withConnection(source, limit.signal, (connection) =>
      runStatement<Row>(connection, statement, values),
    );
  } finally {
    limit.cancel();
  }
}

/** Tries again for as long as a lease lasts: whatever fails that long is left to the lease. */
async function tryForALease<T>(
  { dialect, ended, options }: InboxContext,
  run: () => Promise<T>,
  isOver: () => boolean = () => false,
): Promise<T> {
  const until = options.clock.monotonic() + options.leaseMs;
  const backoff = new Backoff(20, 1000);
  for (;;) {
    try {
      return await run();
    } catch (error) {
      const isLate = options.clock.monotonic() >= until || isOver() || ended.aborted;
      if (isLate || dialect.errors.isUnstorableText(error)) throw error;
      await pause(options.clock, backoff.next(), ended);
    }
  }
}

/** The text with nothing in it that an encoding could refuse. */
function asciiOf(text: string): string {
  return text.replace(/[^\x20-\x7e\n\t]/g, "?");
}
