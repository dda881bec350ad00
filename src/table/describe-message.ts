import { checkKnownKeys, isObject, shown } from "../options.ts";
import { type Casing, casings } from "./casing.ts";
import { describeColumns } from "./describe-columns.ts";
import { checkCustom } from "./describe-custom.ts";
import { type TableDescription, tableLabel } from "./description.ts";
import { listed } from "./option-words.ts";
import { sentence } from "./sentences.ts";
import { faultIn, tableError } from "./table-error.ts";

/** The options that belong to the headers table. */
const OF_THE_TABLE = ["schema", "advisoryLock", "isolation", "mode", "clock"];

/**
 * The description of a message: its headers table's, and what a handler takes.
 *
 * @throws TableError with every rule that is broken, a line a rule.
 */
export function describeMessage(
  headers: TableDescription | undefined,
  given: Readonly<Record<string, unknown>>,
): TableDescription {
  const faults: string[] = [];
  if (headers === undefined) {
    faults.push(`${sentence("notHeaders")}, not ${shown(given.headers)}`);
  }
  const unknown = faultIn(() =>
    checkKnownKeys("inboxMessage", given, [
      "headers",
      "columns",
      "casing",
      "custom",
      ...OF_THE_TABLE,
    ]),
  );
  if (unknown !== undefined) faults.push(unknown);
  for (const option of OF_THE_TABLE) {
    if (given[option] !== undefined) faults.push(sentence("messageOption", { option }));
  }
  const casing = casings.find((each) => each === given.casing);
  if (given.casing !== undefined && casing === undefined) {
    faults.push(`${sentence("casing", { casings: listed(casings) })}, not ${shown(given.casing)}`);
  }
  const message = messageColumns(given.columns, casing, faults);
  const custom = messageEvents(given.custom, headers, faults);
  const label = headers === undefined ? "of a message" : tableLabel(headers);
  if (headers === undefined || faults.length > 0) throw tableError(label, faults);
  return Object.freeze({
    ...headers,
    ...(custom !== undefined && { custom: Object.freeze({ ...headers.custom, ...custom }) }),
    message,
  });
}

function messageColumns(
  given: unknown,
  casing: Casing | undefined,
  faults: string[],
): NonNullable<TableDescription["message"]> {
  const { columns, roles, faults: broken } = describeColumns(given, casing);
  faults.push(...broken);
  for (const { property, role } of columns) {
    if (role === undefined || role === "id" || role === "payload") continue;
    faults.push(`column ${property}: ${sentence("messageRole", { role })}`);
  }
  return Object.freeze({ columns: Object.freeze(columns), roles: Object.freeze(roles) });
}

function messageEvents(
  given: unknown,
  headers: TableDescription | undefined,
  faults: string[],
): TableDescription["custom"] {
  if (given === undefined) return undefined;
  if (isObject(given)) {
    const others = Object.keys(given).filter((event) => event !== "fetch");
    for (const event of others) faults.push(sentence("messageEvent", { event }));
    if (others.length > 0) return undefined;
  }
  return checkCustom(given, headers?.form ?? "rowLock", faults) ? given : undefined;
}
