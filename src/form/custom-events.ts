import type { Connection } from "../driver/connection.ts";
import { asError, CustomEventError, SettlementError } from "../errors.ts";
import { shown } from "../options.ts";
import { type CustomEventName, type TableDescription, tableLabel } from "../table/description.ts";
import type { Action } from "./actions.ts";
import type { FormSettings } from "./form-settings.ts";
import type { SettlementGroup } from "./table-events.ts";

/** An event of the service's own, for the database at hand. */
export type CustomEvent = (...args: unknown[]) => Promise<unknown>;

/** The function that replaces the dialect's statement for an event, if the service has written one. */
export function customEvent(
  { dialect, table }: Pick<FormSettings, "dialect" | "table">,
  event: CustomEventName,
): CustomEvent | undefined {
  const given = table.custom?.[event];
  const own = typeof given === "object" ? given[dialect.name] : given;
  // Its arguments are what the event's type says: the table's own check is the compiler's.
  return own as CustomEvent | undefined;
}

/**
 * Calls an event on the connection of a transaction that is the library's.
 *
 * @throws CustomEventError naming the event and the table, where it throws.
 */
export async function callEvent(
  settings: Pick<FormSettings, "table">,
  name: CustomEventName,
  event: CustomEvent,
  connection: Connection,
  args: readonly unknown[],
): Promise<unknown> {
  try {
    return await event(onlyQueries(connection), ...args);
  } catch (cause) {
    throw eventError(settings, name, asError(cause).message, cause);
  }
}

export function eventError(
  { table }: Pick<FormSettings, "table">,
  name: CustomEventName,
  why: string,
  cause?: unknown,
): CustomEventError {
  const message = `the event "${name}" of ${tableLabel(table)} failed: ${why}`;
  return new CustomEventError(message, cause === undefined ? {} : { cause });
}

/** An id that an event gave, as claims have it. @throws CustomEventError where it is none. */
export function rowId(
  settings: Pick<FormSettings, "table">,
  name: CustomEventName,
  given: unknown,
): string {
  const isId =
    typeof given === "string" || typeof given === "bigint" || Number.isSafeInteger(given);
  if (!isId) {
    const column = settings.table.roles.id?.name ?? "id";
    const what = name === "claim" ? "an id" : `the id of a row, its column ${column},`;
    throw eventError(
      settings,
      name,
      `${what} is text, a whole number or a bigint, not ${shown(given)}`,
    );
  }
  const text = String(given);
  return settings.table.roles.id?.type === "uuid" ? text.toLowerCase() : text;
}

/**
 * A group's settlements by the service's own event: one call a row. What a call throws fails the
 * settlement, under the event's name.
 */
export function customSettlements(
  settings: FormSettings,
  custom: CustomEvent,
  { event, settlements }: SettlementGroup,
): Action[] {
  const { dialect, table } = settings;
  const { id: column } = table.roles;
  return settlements.map(({ row, verdict }): Action => {
    const id = column === undefined ? row.id : dialect.types[column.type].decode(row.id);
    const more =
      verdict.kind === "retryAfter"
        ? [verdict.delayMs]
        : verdict.kind === "deadLetter"
          ? [destinationOf(settings)]
          : [];
    return {
      kind: "call",
      async run(connection) {
        try {
          await custom(onlyQueries(connection), id, ...more);
        } catch (cause) {
          throw new SettlementError(
            `the event "${event}" of ${tableLabel(table)} failed for row ${row.id}`,
            { cause },
          );
        }
        return { rows: [{ id: row.id }], rowCount: 1 };
      },
    };
  });
}

function destinationOf({ claim, deadLetterGroup, dialect, table }: FormSettings): {
  readonly table: string;
  readonly group: string | undefined;
} {
  const quoted = (name: string) => dialect.quoted(name);
  const { name, schema }: TableDescription = claim.deadLetter?.table ?? table;
  const parts = schema === undefined ? [name] : [schema, name];
  return { table: parts.map(quoted).join("."), group: deadLetterGroup ?? undefined };
}

/** The transaction around the event is the library's. */
function onlyQueries(connection: Connection): Pick<Connection, "query"> {
  return { query: (text, params) => connection.query(text, params) };
}
