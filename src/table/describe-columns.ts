import { isObject, shown } from "../options.ts";
import { type Casing, recased } from "./casing.ts";
import { ColumnDraft, type Draft } from "./column-draft.ts";
import type { ColumnDescription, Fifo, Role } from "./description.ts";
import { nameFault } from "./names.ts";
import { sentence } from "./sentences.ts";

export interface DescribedColumns {
  readonly columns: readonly ColumnDescription[];
  readonly roles: { readonly [role in Role]?: ColumnDescription };
  readonly fifo: Fifo;
  readonly attemptFrom: 0 | 1;
  readonly faults: readonly string[];
}

/** The builders as data, and every rule that they break. */
export function describeColumns(given: unknown, casing: Casing | undefined): DescribedColumns {
  const faults: string[] = [];
  const columns: ColumnDescription[] = [];
  const roles: { [role in Role]?: ColumnDescription } = {};
  let fifo: Fifo = "none";
  let attemptFrom: 0 | 1 = 1;
  if (!isObject(given) || Array.isArray(given)) {
    return {
      columns,
      roles,
      fifo,
      attemptFrom,
      faults: [`columns takes an object of columns by their properties, not ${shown(given)}`],
    };
  }
  for (const [property, builder] of Object.entries(given)) {
    const draft = ColumnDraft.read(builder);
    if (draft === undefined) {
      faults.push(`column ${property}: ${sentence("noColumn")}, not ${shown(builder)}`);
      continue;
    }
    const column = describeColumn(property, draft, casing);
    const broken = [
      ...draft.faults,
      nameFault("column", column.name),
      columns.some(({ name }) => name === column.name)
        ? sentence("nameTwice", { name: column.name })
        : undefined,
      column.role !== undefined && roles[column.role] !== undefined
        ? sentence("roleTwice", { role: column.role })
        : undefined,
    ];
    for (const fault of broken) {
      if (fault !== undefined) faults.push(`column ${property}: ${fault}`);
    }
    columns.push(column);
    if (column.role === undefined || roles[column.role] !== undefined) continue;
    roles[column.role] = column;
    if (column.role === "group") fifo = draft.fifo;
    if (column.role === "attempt") attemptFrom = draft.attemptFrom;
  }
  return { columns, roles, fifo, attemptFrom, faults };
}

function describeColumn(
  property: string,
  { name, type, nullable, generated, role, codec }: Draft,
  casing: Casing | undefined,
): ColumnDescription {
  return Object.freeze({
    property,
    name: name ?? recased(property, casing),
    type,
    nullable,
    generated,
    ...(role !== undefined && { role }),
    ...(codec !== undefined && { codec }),
  });
}
