import { pause } from "../clock.ts";
import type { ReadBackRow } from "../dialect/inbox-dialect.ts";
import type { InboxStatement } from "../dialect/inbox-statement.ts";
import { withConnection } from "../driver/checkout.ts";
import type { QueryResult } from "../driver/connection.ts";
import { Backoff } from "../engine/backoff.ts";
import { storableTexts, tryForALease } from "../form/trying-again.ts";
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
  const [text, plainText, noText] = storableTexts(failure);
  for (const error of [text, plainText]) {
    try {
      const run = () => runOnce(context, statement, { ...values, error });
      const isOver = () => delivery.lost !== undefined;
      return (await trying(context, run, isOver)).rowCount === 1;
    } catch (cause) {
      if (!dialect.errors.isUnstorableText(cause)) throw cause;
    }
  }
  return (await runOnce(context, statement, { ...values, error: noText })).rowCount === 1;
}

/**
 * What became of a completion whose commit was not answered, told by the database alone, however late:
 * `committed`; `not committed`, and the message was still ours; `taken`, not committed either, and
 * another claim has it or had it. While a transaction that has not ended holds the row, one asks again:
 * until the lease is over, and then for the length of another.
 */
export async function readBack(
  context: InboxContext,
  delivery: InboxDelivery,
): Promise<"committed" | "not committed" | "taken" | "unknown"> {
  const { ended, options, statements } = context;
  const { id, token, claimedAt } = delivery;
  const run = () => runOnce<ReadBackRow>(context, statements.readBack, { id, token, claimedAt });
  const until = Math.max(delivery.heldUntil, options.clock.monotonic()) + options.leaseMs;
  const backoff = new Backoff(20, 1000);
  for (;;) {
    const { rows } = await trying(context, run);
    const outcome = rows[0]?.outcome;
    if (outcome === "completed") return "committed";
    if (outcome === "ours") return "not committed";
    if (outcome === "taken") return "taken";
    if (outcome !== "locked") return "unknown";
    if (options.clock.monotonic() >= until || ended.aborted) return "unknown";
    await pause(options.clock, backoff.next(), ended);
  }
}

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

function trying<T>(
  { dialect, ended, options }: InboxContext,
  run: () => Promise<T>,
  isOver?: () => boolean,
): Promise<T> {
  const { clock, leaseMs } = options;
  const isFinal = dialect.errors.isUnstorableText;
  return tryForALease({ clock, ended, leaseMs, isFinal, ...(isOver && { isOver }) }, run);
}
