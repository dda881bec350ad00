import type { LeaseStatements } from "../dialect/dialect.ts";
import type { Connection } from "../driver/connection.ts";
import type { Extension } from "../engine/lease-keeper.ts";
import { CustomEventError } from "../errors.ts";
import { runActions } from "./actions.ts";
import { type CustomEvent, customEvent, eventError, yesOrNo } from "./custom-events.ts";
import type { FormSettings } from "./form-settings.ts";
import type { LeasedRow } from "./lease-delivery.ts";
import type { TableEvents } from "./table-events.ts";

/** What an extension answers for a row. */
export interface ExtendedRow {
  readonly id: string;
  readonly outcome: Extension;
  readonly token: string | null;
}

/**
 * Extends leases by the service's own event, row by row in one transaction. A lease's end loses digits on
 * its way through JavaScript, so it fences nothing: the library locks the rows that are ours first, and
 * reads their tokens again behind the event. Undefined where the service has no such event.
 *
 * A row whose event fails costs no other its lease: it is tried once more at once, and then left as it is
 * until the next round. Where no row fares better, the round has failed.
 */
export function extendByEvent(
  settings: FormSettings,
  statements: LeaseStatements,
  events: TableEvents,
  connection: Connection,
  rows: readonly LeasedRow[],
): Promise<readonly ExtendedRow[]> | undefined {
  const event = customEvent(settings, "extend");
  const { extendable, tokens } = statements;
  if (event === undefined || extendable === undefined || tokens === undefined) return undefined;
  const { dialect, leaseMs } = settings;
  const run = async (): Promise<readonly ExtendedRow[]> => {
    const found = await runActions<ExtendableRow>(connection, [
      dialect.begin(dialect.safeLevel),
      events.bound(extendable, { ...events.fence(rows), leaseMs }),
    ]);
    const answers: ExtendedRow[] = [];
    const ours: ExtendableRow[] = [];
    for (const row of found[1]?.rows ?? []) {
      if (row.outcome === "ours") ours.push(row);
      else answers.push({ id: row.id, outcome: row.outcome, token: null });
    }
    let round = await extendEach(settings, event, connection, ours);
    const failedFirst = ours.filter(({ id }) => round.failed.has(id));
    if (failedFirst.length > 0 && failedFirst.length < ours.length) {
      const again = await extendEach(settings, event, connection, failedFirst);
      round = { ...again, held: new Map([...round.held, ...again.held]) };
    }
    const { failed, held } = round;
    const kept = [...held.keys()].filter((id) => held.get(id) === true);
    const action = events.bound(tokens, { ids: dialect.list(kept) });
    const [read] = await runActions<{ id: string; token: string | null }>(connection, [action]);
    const now = new Map(read?.rows.map(({ id, token }) => [id, token]));
    const were = new Map(rows.map(({ id, token }) => [id, token]));
    for (const [id, isHeld] of held) {
      const token = now.get(id);
      if (!isHeld || token === undefined) answers.push({ id, outcome: "lost", token: null });
      else if (token !== were.get(id)) answers.push({ id, outcome: "extended", token });
      else failed.set(id, eventError(settings, "extend", unchanged(id)));
    }
    const [first] = failed.values();
    if (first !== undefined && failed.size === ours.length) throw first;
    await connection.commit();
    for (const [id, error] of failed) {
      answers.push({ id, outcome: "locked", token: null });
      settings.log.error("the lease of a row could not be renewed", {
        event: "renewal_failed",
        ...settings.fields,
        id,
        error,
      });
    }
    return answers;
  };
  return run().catch(async (error: unknown) => {
    // The end of a session that is given up may take its time, and its locks would be in the next try's way.
    await connection.rollback().catch(() => {});
    throw error;
  });
}

/** What the event said of each row, and what it failed with. */
async function extendEach(
  settings: FormSettings,
  event: CustomEvent,
  connection: Connection,
  rows: readonly ExtendableRow[],
): Promise<{
  readonly held: ReadonlyMap<string, boolean>;
  readonly failed: Map<string, CustomEventError>;
}> {
  const { dialect, table } = settings;
  const { id: column } = table.roles;
  const timeOf = (raw: unknown) => dialect.types.timestamp.decode(raw);
  const savepoint = dialect.savepoint("settlement");
  const held = new Map<string, boolean>();
  const failed = new Map<string, CustomEventError>();
  for (const row of rows) {
    const id = column === undefined ? row.id : dialect.types[column.type].decode(row.id);
    const args = [id, timeOf(row.held), timeOf(row.until)];
    await runActions(connection, [{ kind: "query", text: savepoint.set }]);
    try {
      held.set(row.id, await yesOrNo(settings, "extend", event, connection, args));
    } catch (error) {
      if (!(error instanceof CustomEventError)) throw error;
      failed.set(row.id, error);
      const undo = { kind: "query", text: savepoint.rollback } as const;
      // On a session that is gone the event's own error says more.
      await runActions(connection, [undo]).catch(() => Promise.reject(error));
    }
  }
  return { held, failed };
}

function unchanged(id: string): string {
  return `it answered true for row ${id}, whose lease ends as before`;
}

interface ExtendableRow {
  readonly id: string;
  readonly outcome: "ours" | "locked" | "lost";
  readonly held: unknown;
  readonly until: unknown;
}
