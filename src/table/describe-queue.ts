import { checkKnownKeys, hasMethods, isObject, shown } from "../options.ts";
import { type TableDescription, tableLabel } from "./description.ts";
import type { PayloadReading, QueueDescription } from "./queue.ts";
import { sentence } from "./sentences.ts";
import { faultIn, tableError } from "./table-error.ts";

/** What a table's `queue` was given: with groups a group and options, else options alone. */
export function describeQueue(
  table: TableDescription,
  given: readonly unknown[],
): QueueDescription {
  const faults: string[] = [];
  if (table.roles.group === undefined) {
    const payload = payloadOf(table, given[0], ["name", "payload"], faults);
    const { name } = isObject(given[0]) ? given[0] : {};
    if (name !== undefined && (typeof name !== "string" || name === "")) {
      faults.push(`name takes text, not ${shown(name)}`);
    }
    const known = typeof name === "string" ? name : tableLabel(table);
    return described(table, faults, { name: known, table, groups: "none", ...payload });
  }
  const [group] = given;
  const payload = payloadOf(table, given[1], ["payload"], faults);
  if (!isGroup(group)) {
    faults.push(`queue takes the group whose rows it is about, not ${shown(group)}`);
  }
  const name = String(isGroup(group) ? group : "");
  return described(table, faults, { name, table, groups: "one", group: name, ...payload });
}

/** What a table's `everyGroup` was given. */
export function describeEveryGroup(table: TableDescription, options: unknown): QueueDescription {
  const faults = table.fifo === "none" ? [sentence("everyGroup")] : [];
  const payload = payloadOf(table, options, ["payload"], faults);
  const name = tableLabel(table);
  return described(table, faults, { name, table, groups: "every", ...payload });
}

function described(
  table: TableDescription,
  faults: readonly string[],
  queue: QueueDescription,
): QueueDescription {
  if (faults.length > 0) throw tableError(tableLabel(table), faults);
  return Object.freeze(queue);
}

function payloadOf(
  table: TableDescription,
  given: unknown,
  known: readonly string[],
  faults: string[],
): { readonly payload?: PayloadReading } {
  if (given === undefined) return {};
  const fault = faultIn(() => checkKnownKeys("queue", given, known));
  if (fault !== undefined) faults.push(fault);
  const payload = isObject(given) ? given.payload : undefined;
  if (payload === undefined) return {};
  if (table.roles.payload === undefined) faults.push(sentence("payloadOnRows"));
  if (isReading(payload)) return { payload };
  faults.push(
    `payload takes a Standard Schema, or a codec { decode, encode }, not ${shown(payload)}`,
  );
  return {};
}

function isGroup(value: unknown): value is string | number | bigint {
  if (typeof value === "number") return Number.isSafeInteger(value);
  return typeof value === "string" || typeof value === "bigint";
}

function isReading(value: unknown): value is PayloadReading {
  if (hasMethods(value, ["decode", "encode"])) return true;
  // Some schemas are functions: arktype's are.
  if (!isObject(value) && typeof value !== "function") return false;
  return hasMethods(Reflect.get(value, "~standard"), ["validate"]);
}
