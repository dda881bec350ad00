import type { ClaimedRow } from "../dialect/dialect.ts";
import { checkOut, giveBack } from "../driver/checkout.ts";
import type { Connection } from "../driver/connection.ts";
import { asError } from "../errors.ts";
import { orAbort, timeLimit } from "../time-limit.ts";
import type { FormSettings } from "./form-settings.ts";
import { TableDelivery } from "./table-delivery.ts";

/** Rows that a session holds: its connection is theirs until they are settled. */
export class SessionDelivery extends TableDelivery {
  readonly connection: Connection;
  /** Why the connection must not go back to its pool. */
  doubt: Error | undefined;
  #isOver = false;

  constructor(rows: readonly ClaimedRow[], connection: Connection) {
    super(rows);
    this.connection = connection;
  }

  /** Something on the connection; a time limit that passes puts it in doubt. */
  async run<T>(settings: FormSettings, what: () => Promise<T>): Promise<T> {
    const { clock, leaseMs } = settings;
    const limit = timeLimit(clock, leaseMs, "the database did not answer in time");
    try {
      return await orAbort(what(), limit.signal);
    } catch (error) {
      if (limit.signal.aborted) this.doubt = asError(error);
      throw error;
    } finally {
      limit.cancel();
    }
  }

  /** Rolls back; where that fails the connection is in doubt, and nothing else is said of it. */
  async rollBack(settings: FormSettings): Promise<void> {
    if (this.doubt !== undefined) return;
    try {
      await this.run(settings, () => this.connection.rollback());
    } catch (error) {
      this.doubt = asError(error);
    }
  }

  /** Gives the connection back: whole, or to be destroyed. Once; later calls do nothing. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await giveBack(this.connection, this.doubt);
  }
}

/**
 * Claims on a connection that stays with what was claimed. Without rows it goes back; what fails puts it
 * in doubt, and nobody can say then what it holds.
 */
export async function claimOnSession<D extends SessionDelivery>(
  settings: FormSettings,
  stop: AbortSignal,
  claim: (connection: Connection) => Promise<D | undefined>,
): Promise<D | undefined> {
  const { clock, leaseMs, source } = settings;
  const patience = timeLimit(clock, leaseMs, "there was no connection for a claim", stop);
  const connection = await checkOut(source, patience.signal).finally(() => patience.cancel());
  const budget = timeLimit(clock, leaseMs, "the claim was not answered in time");
  try {
    const delivery = await orAbort(claim(connection), budget.signal);
    if (delivery === undefined) await giveBack(connection);
    return delivery;
  } catch (error) {
    await giveBack(connection, asError(error));
    throw error;
  } finally {
    budget.cancel();
  }
}
