import type { Connection } from "../driver/connection.ts";
import { transactionControl } from "../driver/transaction-control.ts";
import { asError, CustomEventError, SettlementError, TransactionError } from "../errors.ts";
import { shown } from "../options.ts";
import {
  type ColumnType,
  type CustomEventName,
  type TableDescription,
  tableLabel,
} from "../table/description.ts";
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
    return await run(event, connection, args);
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

/** Calls an event that answers true or false. @throws CustomEventError also where it answers anything else. */
export async function yesOrNo(
  settings: Pick<FormSettings, "table">,
  name: "extend" | "lock" | "unlock",
  event: CustomEvent,
  connection: Connection,
  args: readonly unknown[],
): Promise<boolean> {
  const answer = await callEvent(settings, name, event, connection, args);
  if (typeof answer === "boolean") return answer;
  throw eventError(settings, name, `it answers true or false, not ${shown(answer)}`);
}

/** An id that an event gave, as claims have it. @throws CustomEventError where it is none of the column's. */
export function rowId(
  settings: Pick<FormSettings, "table">,
  name: CustomEventName,
  given: unknown,
  column?: string,
): string {
  const type = settings.table.roles.id?.type ?? "text";
  const { pattern, words } = idTypes[type] ?? ANY_TEXT;
  const isNumber = typeof given === "bigint" || Number.isSafeInteger(given);
  const text =
    typeof given === "string" || (isNumber && type !== "text") ? String(given) : undefined;
  if (text !== undefined && pattern.test(text)) {
    return type === "uuid" ? text.toLowerCase() : text;
  }
  const what = column === undefined ? "an id" : `the id of a row, its column ${column},`;
  throw eventError(settings, name, `${what} is ${words}, not ${shown(given)}`);
}

interface IdType {
  readonly pattern: RegExp;
  readonly words: string;
}

/** As the database prints them, so that one id has one text. */
const WHOLE: IdType = { pattern: /^(0|-?[1-9]\d*)$/, words: "a whole number or its text" };
const ANY_TEXT: IdType = { pattern: /^/, words: "text" };
const idTypes: { readonly [type in ColumnType]?: IdType } = {
  smallint: WHOLE,
  integer: WHOLE,
  bigint: WHOLE,
  decimal: { pattern: /^-?\d+(\.\d+)?$/, words: "a decimal number as text" },
  uuid: { pattern: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, words: "a UUID as text" },
};

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
          await run(custom, connection, [id, ...more]);
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

/**
 * Runs an event with queries, one after the other, and nothing that could end the transaction around it,
 * which is the library's. A query that the event did not wait for is waited for here: nothing of it may
 * stand between the library's own statements.
 */
async function run(
  event: CustomEvent,
  connection: Connection,
  args: readonly unknown[],
): Promise<unknown> {
  let isOver = false;
  let last: Promise<unknown> = Promise.resolve();
  const query: Connection["query"] = (text, params) => {
    const control = transactionControl(String(text), connection.database);
    const refusal =
      control !== undefined
        ? `${control} is refused here: the transaction is the library's. Return to go on, throw to roll back.`
        : isOver
          ? "the event has answered: its connection takes no more queries"
          : undefined;
    const result =
      refusal === undefined
        ? last.then(() => connection.query<never>(text, params))
        : Promise.reject(new TransactionError(refusal));
    // A rejection that nobody awaits ends no process.
    const over = result.then(
      () => {},
      () => {},
    );
    if (refusal === undefined) last = over;
    return result;
  };
  try {
    return await event({ query }, ...args);
  } finally {
    isOver = true;
    await last;
  }
}
