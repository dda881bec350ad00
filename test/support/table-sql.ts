import type { Dialect } from "../../src/dialect/dialect.ts";
import type { Statement } from "../../src/dialect/statement.ts";
import type { CustomEvents, FormName, TableDescription } from "../../src/table/description.ts";
import { columnOf, describeTable, type TestColumns } from "./described-table.ts";

const BASE = {
  id: ["bigint", "id"],
  grp: ["text", "group"],
  due: ["timestamp", "retryAfter"],
  att: ["smallint", "attempt"],
  pay: ["json", "payload"],
} as const satisfies TestColumns;
const LEASE = { lease: ["timestamp", "lockedUntil"] } as const satisfies TestColumns;
const PRIORITY = { prio: ["integer", "priority"] } as const satisfies TestColumns;
const DONE = { done: ["timestamp", "processedAt"], why: "text" } as const satisfies TestColumns;

const graves = describeTable({
  name: "graves",
  columns: { id: ["bigint", "id"], pay: "json", tries: ["integer", "attempt"], reason: "text" },
});
/** A table of each form, and of each way to order rows. */
export const sqlTables = {
  "row-lock": describeTable({ schema: "app", columns: { ...BASE, ...DONE } }),
  "row-lock-fifo": describeTable({ schema: "app", columns: BASE, fifo: "fifo" }),
  lease: describeTable({ columns: { ...BASE, ...LEASE, ...PRIORITY } }),
  "lease-system-clock": describeTable({
    columns: { id: ["uuid", "id"], due: ["timestamp", "retryAfter"], ...LEASE },
    clock: "system",
  }),
  "lease-fifo": describeTable({ columns: { ...BASE, ...LEASE }, fifo: "fifo" }),
  "lease-strict": describeTable({ columns: { ...BASE, ...LEASE, ...PRIORITY }, fifo: "strict" }),
  "advisory-lock": describeTable({ columns: BASE, lockKey: ["job-", "id", "/", "grp"] }),
};

const event = async (): Promise<never> => {
  throw new Error("only the statements around it are looked at");
};
/** Events that the library runs statements around. */
const EVENTS: { readonly [form in FormName]: CustomEvents } = {
  rowLock: { claim: event },
  lease: { claim: event, extend: event },
  advisoryLock: { lock: event, unlock: event },
};

/** Every statement of a table, with its name; those around events of the service's own, too. */
export function statementsOf(dialect: Dialect, table: TableDescription): [string, Statement][] {
  const { group, payload } = table.roles;
  const reason = table.columns.find(({ name }) => name === "why");
  const settings = {
    columns: payload === undefined ? [] : [payload],
    groups: group === undefined ? ("none" as const) : ("one" as const),
    mostRows: 10,
    leaseMs: 30_000,
    deadLetter:
      reason === undefined && payload !== undefined
        ? {
            table: graves,
            reason: columnOf(graves, "reason"),
            copied: [[payload, columnOf(graves, "pay")]] as const,
          }
        : { ...(reason && { reason }) },
  };
  const { advisoryLock, lease, rowLock } = dialect;
  const forms = { advisoryLock, lease, rowLock };
  const built = (of: TableDescription): [string, Statement][] =>
    Object.entries(forms[table.form]?.(of, settings) ?? {});
  const plain = built(table);
  const known = new Set(plain.map(([name]) => name));
  const own = built({ ...table, custom: EVENTS[table.form] });
  const all = [...plain, ...own.filter(([name]) => !known.has(name))];
  const ofEveryGroup: [string, Statement][] =
    table.fifo === "none"
      ? []
      : Object.entries(forms[table.form]?.(table, { ...settings, groups: "every" }) ?? {});
  return [
    ...all,
    ...ofEveryGroup.flatMap(([which, statement]) =>
      which === "claim" || which === "walkedTo"
        ? [[`${which} of every group`, statement] satisfies [string, Statement]]
        : [],
    ),
    ["columns", dialect.inspection.columns(table)],
    ["insert", dialect.insert(table, table.columns.slice(0, 3), 2)],
  ];
}

/** The statements as a snapshot file holds them. */
export function statementsText(dialect: Dialect, table: TableDescription): string {
  return statementsOf(dialect, table)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(partsOf)
    .map(([which, { params, text }]) => `-- ${which}: ${params.join(", ")}\n${text};\n`)
    .join("\n");
}

/** A statement, and those that run around it or in its place. */
export function partsOf([which, statement]: readonly [string, Statement]): [string, Statement][] {
  const { after = [], before = [], program, ...rest } = statement;
  if (program !== undefined) {
    return program.parts.flatMap((part, at) => partsOf([`${which}, ${at + 1}`, part]));
  }
  return [
    ...before.map((each): [string, Statement] => [`before ${which}`, each]),
    [which, rest],
    ...after.map((each): [string, Statement] => [`after ${which}`, each]),
  ];
}
