import type { DialectErrors } from "../dialect/errors.ts";
import type { Statement } from "../dialect/statement.ts";
import type { Connection } from "./connection.ts";

/** How a database is asked whether it takes a statement, without running it. */
export interface Preparing {
  /** See the dialects' `inspection.prepare`. */
  prepare?(statement: Statement): readonly string[];
  /** See the dialects' `inspection.refusal`. */
  refusal?(error: unknown): unknown;
}

/**
 * What the server refuses a statement with; undefined where it takes it, or is not to be asked. In a
 * transaction of its own, so that one that is refused says nothing of the others.
 *
 * @throws what says nothing of the statement: an outage, a lock that was not free.
 */
export async function refusedStatement(
  connection: Connection,
  errors: DialectErrors,
  preparing: Preparing,
  statement: Statement,
): Promise<{ readonly error: unknown } | undefined> {
  const texts = preparing.prepare?.(statement) ?? [];
  await connection.begin();
  try {
    for (const text of texts) await connection.query(text);
    await connection.rollback();
    return undefined;
  } catch (error) {
    // What the statement failed with is the news, whatever becomes of the rollback.
    await connection.rollback().catch(() => {});
    if (errors.isSessionLost(error) || errors.isTransient(error)) throw error;
    if (preparing.refusal === undefined) return { error };
    const refusal = preparing.refusal(error);
    return refusal === undefined ? undefined : { error: refusal };
  }
}
