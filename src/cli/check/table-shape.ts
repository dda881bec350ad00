/** A table as its database has it, against its description. */
import type { Dialect } from "../../dialect/dialect.ts";
import type { ColumnDescription, TableDescription } from "../../table/description.ts";

/** What is kept of a column: what a description can differ from. */
export type ColumnShape = {
  /** As the database writes it. */
  readonly type: string;
  readonly nullable: boolean;
  readonly generated: ColumnDescription["generated"];
};

/** The columns by their names. */
export type TableShape = ReadonlyMap<string, ColumnShape>;

/** One thing that is not as it should be. */
export type Finding = {
  readonly statement?: string;
  readonly column?: string;
  readonly message: string;
};

/** What differs: `problems` break something, `advice` may. */
export interface Findings {
  readonly problems: readonly Finding[];
  readonly advice: readonly Finding[];
}

export function compareTable(
  table: TableDescription,
  shape: TableShape,
  { admin }: Pick<Dialect, "admin">,
): Findings {
  const problems: Finding[] = [];
  const advice: Finding[] = [];
  const described = new Map(
    [...table.columns, ...(table.message?.columns ?? [])].map((column) => [column.name, column]),
  );
  for (const [name, column] of described) {
    const found = shape.get(name);
    if (found === undefined) {
      problems.push({ column: name, message: `the table has no column "${name}"` });
      continue;
    }
    const fits = admin?.fits(column.type, found.type) ?? true;
    const faults = [fits ? undefined : typeFault(column, found), ...faultsOf(column, found)];
    for (const message of faults)
      if (message !== undefined) problems.push({ column: name, message });
    if (column.generated !== "never" && found.generated === "never" && !found.nullable) {
      const message = `column "${name}" is generated in the description, and the database has no default for it: a trigger must fill it`;
      advice.push({ column: name, message });
    }
  }
  for (const [name, { generated, nullable }] of shape) {
    if (described.has(name) || nullable || generated !== "never") continue;
    const message = `column "${name}" takes a value that the description does not have: inserts by it fail`;
    advice.push({ column: name, message });
  }
  return { problems, advice };
}

function typeFault({ name, type }: ColumnDescription, found: ColumnShape): string {
  return `column "${name}" is ${found.type} in the database, and ${type} in the description`;
}

function faultsOf(
  { generated, name, nullable }: ColumnDescription,
  found: ColumnShape,
): (string | undefined)[] {
  return [
    found.nullable && !nullable
      ? `column "${name}" may be null in the database, and not in the description`
      : undefined,
    nullable && !found.nullable
      ? `column "${name}" is never null in the database, and nullable in the description`
      : undefined,
    found.generated === "always" && generated !== "always"
      ? `column "${name}" is written by the database alone: describe it with generatedAlways()`
      : undefined,
  ];
}
