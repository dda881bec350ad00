import type { DeadLetterSettings } from "../dialect/dialect.ts";
import { TableError } from "../errors.ts";
import {
  type ColumnDescription,
  type Role,
  type TableDescription,
  tableLabel,
} from "../table/description.ts";
import type { QueueDescription } from "../table/queue.ts";

/**
 * Where columns of a row go that is moved into another table, by their properties: the property that
 * takes it there, or null for one that may be lost.
 */
export type DeadLetterColumns = Readonly<Record<string, string | null>>;

/** Where rows go that are given up, and the group that they get there. */
export interface DeadLetterPlan {
  readonly settings: DeadLetterSettings;
  readonly group: string | null;
}

/**
 * Fits a queue's rows to where they are to go. A column goes to the one that plays its role there, else to
 * the one of its property; the attempt, the due time and the lease start anew, and an id that the other
 * table generates is made there.
 *
 * @throws TableError, all problems in one, where the columns do not fit.
 */
export function deadLetterPlan(
  queue: QueueDescription,
  to: QueueDescription | TableDescription,
  columns: DeadLetterColumns = {},
): DeadLetterPlan {
  const destination: Destination =
    "groups" in to
      ? { table: to.table, group: to.group ?? null, isEvery: to.groups === "every" }
      : { table: to, group: null, isEvery: false };
  const { table, group } = destination;
  const label = tableLabel(table);
  if (destination.isEvery) {
    throw new TableError(`deadLetter: ${label} is every group of it; name the queue of one group`);
  }
  const reason = reasonColumn(table);
  const settings = reason === undefined ? {} : { reason };
  if (table === queue.table) {
    if (group === null || group === queue.group) {
      throw new TableError(
        `deadLetter: rows of ${queue.name} would stay where they are: name another group of ${label}, or another table`,
      );
    }
    return { settings, group };
  }
  if (table.roles.group !== undefined && group === null) {
    throw new TableError(`deadLetter: ${label} has groups: name the queue of one`);
  }
  const copied = fitted(queue.table, table, columns, reason);
  return { settings: { ...settings, table, copied }, group };
}

interface Destination {
  readonly table: TableDescription;
  readonly group: string | null;
  readonly isEvery: boolean;
}

/** What starts anew where a row arrives. */
const ANEW: readonly Role[] = ["group", "attempt", "retryAfter", "lockedUntil", "processedAt"];

function isAnew({ role }: ColumnDescription): boolean {
  return role !== undefined && ANEW.includes(role);
}

function fitted(
  from: TableDescription,
  to: TableDescription,
  named: DeadLetterColumns,
  reason: ColumnDescription | undefined,
): readonly (readonly [ColumnDescription, ColumnDescription])[] {
  const problems: string[] = [];
  const pairs: (readonly [ColumnDescription, ColumnDescription])[] = [];
  const [here, there] = [tableLabel(from), tableLabel(to)];
  for (const property of Object.keys(named)) {
    if (from.columns.some((column) => column.property === property)) continue;
    problems.push(`deadLetterColumns names "${property}", and ${here} has no such column`);
  }
  for (const column of from.columns) {
    const { property } = column;
    const name = Object.hasOwn(named, property) ? named[property] : undefined;
    if (name === null) continue;
    if (name === undefined && isAnew(column)) continue;
    const target =
      name === undefined
        ? counterpart(column, to)
        : to.columns.find((each) => each.property === name);
    if (target === undefined) {
      if (column.role === "id") continue;
      problems.push(
        name === undefined
          ? `the column "${property}" of ${here} would be lost in ${there}: add it there, or say so with deadLetterColumns: { ${property}: null }`
          : `deadLetterColumns sends "${property}" to "${name}", and ${there} has no such column`,
      );
    } else if (target === reason) {
      // The new reason stands there, not the old one.
    } else if (target.type !== column.type) {
      problems.push(
        `"${property}" is ${column.type} in ${here}, and "${target.property}" is ${target.type} in ${there}`,
      );
    } else pairs.push([column, target]);
  }
  const filled = new Set([...pairs.map(([, target]) => target), reason]);
  for (const column of to.columns) {
    const isFree = column.nullable || column.generated !== "never" || isAnew(column);
    if (isFree || filled.has(column)) continue;
    problems.push(
      `"${column.property}" of ${there} takes a value, and no column of ${here} has it`,
    );
  }
  if (problems.length > 0) throw new TableError(`deadLetter: ${problems.join("\n")}`);
  return pairs;
}

function counterpart(
  column: ColumnDescription,
  to: TableDescription,
): ColumnDescription | undefined {
  // An id that the other table makes itself is not to collide with one that it made before.
  if (column.role === "id" && to.roles.id?.generated !== "never") return undefined;
  const byRole = column.role === undefined ? undefined : to.roles[column.role];
  const found = byRole ?? to.columns.find((each) => each.property === column.property);
  return found?.generated === "always" ? undefined : found;
}

/** The first text column without a role that is named for it. */
export function reasonColumn(table: TableDescription): ColumnDescription | undefined {
  return table.columns.find(
    ({ property, role, type }) =>
      role === undefined && type === "text" && REASON_PROPERTIES.includes(property),
  );
}

/** Properties of a text column that takes the reason of a dead letter. */
export const REASON_PROPERTIES: readonly string[] = ["deadLetterReason", "reason", "lastError"];
