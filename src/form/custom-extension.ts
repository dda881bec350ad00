import type { LeaseStatements } from "../dialect/dialect.ts";
import type { Connection } from "../driver/connection.ts";
import type { Extension } from "../engine/lease-keeper.ts";
import { shown } from "../options.ts";
import { runActions } from "./actions.ts";
import { callEvent, customEvent, eventError } from "./custom-events.ts";
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
 */
export function extendByEvent(
  settings: FormSettings,
  statements: LeaseStatements,
  events: TableEvents,
  connection: Connection,
  rows: readonly LeasedRow[],
): Promise<readonly ExtendedRow[]> | undefined {
  const extend = customEvent(settings, "extend");
  const { extendable, tokens } = statements;
  if (extend === undefined || extendable === undefined || tokens === undefined) return undefined;
  const { dialect, leaseMs, table } = settings;
  const { id: column } = table.roles;
  const timeOf = (raw: unknown) => dialect.types.timestamp.decode(raw);
  const run = async (): Promise<readonly ExtendedRow[]> => {
    const found = await runActions<ExtendableRow>(connection, [
      dialect.begin(dialect.safeLevel),
      events.bound(extendable, { ...events.fence(rows), leaseMs }),
    ]);
    const answers: ExtendedRow[] = [];
    const held: string[] = [];
    for (const row of found[1]?.rows ?? []) {
      if (row.outcome === "ours") {
        const id = column === undefined ? row.id : dialect.types[column.type].decode(row.id);
        const args = [id, timeOf(row.held), timeOf(row.until)];
        const answer = await callEvent(settings, "extend", extend, connection, args);
        if (typeof answer !== "boolean") {
          throw eventError(settings, "extend", `it answers true or false, not ${shown(answer)}`);
        }
        if (answer) held.push(row.id);
        else answers.push({ id: row.id, outcome: "lost", token: null });
      } else answers.push({ id: row.id, outcome: row.outcome, token: null });
    }
    const read = await runActions<{ id: string; token: string | null }>(connection, [
      events.bound(tokens, { ids: dialect.list(held) }),
    ]);
    const were = new Map(rows.map(({ id, token }) => [id, token]));
    for (const { id, token } of read[0]?.rows ?? []) {
      if (token === were.get(id)) {
        throw eventError(
          settings,
          "extend",
          `it answered true for row ${id}, whose lease ends as before`,
        );
      }
      answers.push({ id, outcome: "extended", token });
    }
    await connection.commit();
    return answers;
  };
  return run();
}

interface ExtendableRow {
  readonly id: string;
  readonly outcome: "ours" | "locked" | "lost";
  readonly held: unknown;
  readonly until: unknown;
}
