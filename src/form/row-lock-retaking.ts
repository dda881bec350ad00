import { bind } from "../dialect/bind.ts";
import type { ClaimedRow, RowLockStatements } from "../dialect/dialect.ts";
import { asError } from "../errors.ts";
import { type Action, runActions } from "./actions.ts";
import type { FormSettings } from "./form-settings.ts";
import { whatRefused } from "./refusal.ts";
import type { RowLockDelivery } from "./row-lock-delivery.ts";
import type { TableEvents } from "./table-events.ts";

/**
 * Takes the rows of a delivery again whose transaction has ended before they were settled, and their locks
 * with it: in a new one, by their ids, waiting for nobody.
 *
 *     rolled back --> unlock --> BEGIN, take --> a row that is as it was --> held, to be settled
 *                                                \-- changed, gone, or somebody else's --> not ours to say
 *                                   \--failed--> rolled back: none is held
 *
 * Without it a row whose handler always fails so would come again for ever: its attempts are counted by what
 * settles it. Between the two transactions anybody may have the row. So it must be claimable still, and its
 * attempt and its columns those that the handler was given: what became of it meanwhile is not overwritten.
 *
 * Answers the rows that are not held.
 */
export async function retake(
  { events, settings, statements }: RetakingContext,
  delivery: RowLockDelivery,
): Promise<readonly ClaimedRow[]> {
  const { claim, dialect, table, transactional } = settings;
  const { rows } = delivery;
  await delivery.rollBack(settings);
  if (delivery.doubt !== undefined || statements.take === undefined) return rows;
  const unlocking = statements.unlock === undefined ? [] : [bind(statements.unlock, {})];
  const identity = dialect.transactions?.idIfAny;
  const group = settings.queueGroup ?? null;
  const actions: Action[] = [
    dialect.begin(table.isolation ?? table.mode),
    events.bound(statements.take, { group, ids: events.fence(rows).ids }),
    ...(identity === undefined ? [] : [bind(identity, {})]),
    // Where settlements undo what a handler wrote, there is nothing to undo, and a savepoint all the same.
    ...(transactional ? [{ kind: "query", text: dialect.savepoint("handler").set } as const] : []),
  ];
  try {
    const { connection } = delivery;
    // A session may not get again what it has locked already, as a fifo group on MySQL.
    if (unlocking.length > 0) {
      await delivery.run(settings, () => runActions(connection, unlocking));
    }
    const results = await delivery.run(settings, () => runActions<ClaimedRow>(connection, actions));
    const taken = new Map(results[1]?.rows.map((row) => [row.id, row]));
    const isHeld = (row: ClaimedRow) => isAsItWas(row, taken.get(row.id), claim.columns.length);
    const id = identity === undefined ? undefined : results[2]?.rows[0]?.id;
    const others = rows.filter((row) => !isHeld(row));
    delivery.heldAnew(rows.filter(isHeld), id ?? undefined);
    return others;
  } catch (error) {
    if (whatRefused(dialect.errors, error, undefined).kind === "unknown") {
      delivery.doubt ??= asError(error);
    }
    await delivery.rollBack(settings);
    return rows;
  }
}

interface RetakingContext {
  readonly settings: FormSettings;
  readonly statements: RowLockStatements;
  readonly events: TableEvents;
}

/** By what the claim itself has read of the row: what a `fetch` of the service's own added is not looked at. */
function isAsItWas(row: ClaimedRow, now: ClaimedRow | undefined, columns: number): boolean {
  if (now === undefined || now.attempt !== row.attempt) return false;
  const places = Array.from({ length: columns }, (_, index) => `c${index}` as const);
  return places.every((place) => isSame(row[place], now[place]));
}

/** Values as drivers hand them on: texts, numbers, truth and bytes. */
function isSame(a: unknown, b: unknown): boolean {
  if (!(a instanceof Uint8Array) || !(b instanceof Uint8Array)) return Object.is(a, b);
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
