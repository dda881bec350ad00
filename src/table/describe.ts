import { checkKnownKeys, isObject, shown } from "../options.ts";
import { type Casing, casings } from "./casing.ts";
import { describeColumns } from "./describe-columns.ts";
import { checkCustom } from "./describe-custom.ts";
import {
  type ColumnDescription,
  type FormName,
  type KeyPart,
  type Role,
  type TableDescription,
  tableLabel,
} from "./description.ts";
import { parseLockKey } from "./lock-key.ts";
import { nameFault } from "./names.ts";
import { isolationLevels, listed, transactionModes } from "./option-words.ts";
import { type SentenceName, sentence } from "./sentences.ts";
import { faultIn, tableError } from "./table-error.ts";

/** The options of a table as JavaScript may have written them. */
export const tableOptions = [
  "schema",
  "columns",
  "casing",
  "advisoryLock",
  "isolation",
  "mode",
  "clock",
  "custom",
] as const;

/**
 * A description out of whatever `inboxTable` was given, checked and frozen.
 *
 * @throws TableError with every rule that is broken, a line a rule.
 */
export function describeTable(name: unknown, given: unknown): TableDescription {
  const faults: string[] = [];
  const tell = (fault: string | undefined) => {
    if (fault !== undefined) faults.push(fault);
  };
  tell(faultIn(() => checkKnownKeys("inboxTable", given, tableOptions)));
  const options: Record<string, unknown> = isObject(given) ? given : {};

  const ownName = nameOf("table", name, tell) ?? "";
  const schema = options.schema === undefined ? undefined : nameOf("schema", options.schema, tell);
  const casing = wordOf<Casing>(
    "casing",
    { casings: listed(casings) },
    options.casing,
    casings,
    tell,
  );
  const {
    columns,
    roles,
    fifo,
    attemptFrom,
    faults: broken,
  } = describeColumns(options.columns, casing);
  faults.push(...broken);
  if (isObject(options.columns) && roles.id === undefined) tell(sentence("noId"));

  const { advisoryLock } = options;
  const form = formOf(advisoryLock, roles);
  const lockKey =
    advisoryLock === undefined
      ? undefined
      : lockKeyOf(advisoryLock, ownName, { columns, roles, isFifo: fifo !== "none" }, tell);
  const isolation = wordOf(
    "isolation",
    { levels: listed(isolationLevels) },
    options.isolation,
    isolationLevels,
    tell,
  );
  const mode = wordOf(
    "mode",
    { modes: listed(transactionModes) },
    options.mode,
    transactionModes,
    tell,
  );
  if (options.isolation !== undefined && options.mode !== undefined) {
    tell(sentence("isolationAndMode"));
  }
  const { clock = "database", custom } = options;
  if (!isClock(clock)) {
    tell(`clock takes "database", "system" or a function that answers a Date, not ${shown(clock)}`);
  }
  const events = custom !== undefined && checkCustom(custom, form, faults) ? custom : undefined;

  const label = tableLabel({ name: ownName, ...(schema !== undefined && { schema }) });
  if (faults.length > 0) throw tableError(label, faults);
  return Object.freeze({
    name: ownName,
    ...(schema !== undefined && { schema }),
    form,
    columns: Object.freeze(columns),
    roles: Object.freeze(roles),
    fifo,
    attemptFrom,
    ...(lockKey !== undefined && { lockKey }),
    ...(isolation !== undefined && { isolation }),
    ...(mode !== undefined && { mode }),
    clock: isClock(clock) ? clock : "database",
    ...(events !== undefined && { custom: Object.freeze({ ...events }) }),
  });
}

type Tell = (fault: string | undefined) => void;

function nameOf(what: "table" | "schema", name: unknown, tell: Tell): string | undefined {
  if (typeof name !== "string") {
    tell(`a ${what} takes its name as text, not ${shown(name)}`);
    return undefined;
  }
  tell(nameFault(what, name));
  return name;
}

/** One word of a list. */
function wordOf<Known extends string>(
  rule: SentenceName,
  words: Readonly<Record<string, string>>,
  value: unknown,
  known: readonly Known[],
  tell: Tell,
): Known | undefined {
  if (value === undefined) return undefined;
  const word = known.find((each) => each === value);
  if (word === undefined) tell(`${sentence(rule, words)}, not ${shown(value)}`);
  return word;
}

function formOf(
  advisoryLock: unknown,
  roles: { readonly [role in Role]?: ColumnDescription },
): FormName {
  if (advisoryLock !== undefined) return "advisoryLock";
  return roles.lockedUntil === undefined ? "rowLock" : "lease";
}

interface LockedColumns {
  readonly columns: readonly ColumnDescription[];
  readonly roles: { readonly [role in Role]?: ColumnDescription };
  readonly isFifo: boolean;
}

function lockKeyOf(
  text: unknown,
  name: string,
  { columns, roles, isFifo }: LockedColumns,
  tell: Tell,
): readonly KeyPart[] | undefined {
  if (roles.lockedUntil !== undefined) tell(sentence("lockAndLease"));
  if (isFifo && roles.group !== undefined) {
    tell(sentence("lockAndFifo", { key: `${name}-{${roles.group.property}}` }));
  }
  if (typeof text !== "string") {
    tell(`advisoryLock takes text with placeholders, such as "jobs-{jobId}", not ${shown(text)}`);
    return undefined;
  }
  const { parts, faults } = parseLockKey(text, columns);
  for (const fault of faults) tell(fault);
  return Object.freeze(parts);
}

function isClock(value: unknown): value is TableDescription["clock"] {
  return value === "database" || value === "system" || typeof value === "function";
}
