import type { Clock } from "../clock.ts";
import type { Statement } from "../dialect/statement.ts";
import { checkOut, giveBack, withConnection } from "../driver/checkout.ts";
import type { Connection, ConnectionSource } from "../driver/connection.ts";
import { asError } from "../errors.ts";
import { timeLimit } from "../time-limit.ts";
import { ask } from "./inspect.ts";

/**
 * Whether somebody between here and the server hands each transaction to a session of his own choice.
 * Two connections that are out at once have a session each, and keep it. So one is asked which it has; then
 * another opens a transaction, which a pooler gives the session that has just become idle; and then the first
 * is asked again, some times over. Where there is no second connection to be had, nobody can tell, and the answer is no.
 *
 * @param statement answers `session`, which tells the server's sessions apart.
 */
export async function sharesSessions(
  source: ConnectionSource,
  statement: Statement,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  if (source.max === 1) return false;
  // Subscriptions that start together would each hold one connection and wait for another.
  const asking = underWay.get(source) ?? look(source, statement, clock, signal);
  underWay.set(source, asking);
  try {
    return await asking;
  } finally {
    underWay.delete(source);
  }
}

const underWay = new WeakMap<ConnectionSource, Promise<boolean>>();

async function look(
  source: ConnectionSource,
  statement: Statement,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  return await withConnection(source, signal, async (first) => {
    const before = await sessionOf(first, statement);
    const limit = timeLimit(clock, PATIENCE_MS, "there was no second connection", signal);
    const second = await checkOut(source, limit.signal)
      .catch(() => undefined)
      .finally(() => limit.cancel());
    if (second === undefined) return false;
    try {
      let isShared = false;
      for (let round = 0; round < ROUNDS && !isShared; round += 1) {
        await second.begin();
        const other = await sessionOf(second, statement);
        await second.rollback();
        isShared = other === before || (await sessionOf(first, statement)) !== before;
      }
      await giveBack(second);
      return isShared;
    } catch (error) {
      await giveBack(second, asError(error));
      throw error;
    }
  });
}

/** Others may have taken the session that had become idle. */
const ROUNDS = 5;

/** How long a second connection is waited for: the first is held meanwhile. */
const PATIENCE_MS = 1000;

async function sessionOf(connection: Connection, statement: Statement): Promise<unknown> {
  const [row] = await ask<{ session: unknown }>(connection, statement);
  return row?.session;
}
