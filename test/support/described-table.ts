import type {
  ColumnDescription,
  ColumnType,
  Fifo,
  FormName,
  Role,
  TableDescription,
} from "../../src/table/description.ts";

/** Columns by their names: the type, and the role where it has one. */
export type TestColumns = Readonly<Record<string, ColumnType | readonly [ColumnType, Role]>>;

export interface TestTable {
  readonly name?: string;
  readonly schema?: string;
  readonly columns: TestColumns;
  readonly fifo?: Fifo;
  readonly attemptFrom?: 0 | 1;
  readonly clock?: TableDescription["clock"];
  /** Text and columns in turn, such as `["jobs-", "id"]`: the advisory lock form. */
  readonly lockKey?: readonly string[];
  /** Names of columns that the database fills. Default: the id and the attempt. */
  readonly generated?: readonly string[];
  readonly notNull?: readonly string[];
}

const NULLABLE: readonly (Role | undefined)[] = [
  "retryAfter",
  "lockedUntil",
  "processedAt",
  "priority",
];

/** A description as the builder would make it, without the builder. */
export function describeTable(given: TestTable): TableDescription {
  const {
    attemptFrom = 1,
    clock = "database",
    fifo = "none",
    lockKey,
    name = "jobs",
    notNull,
  } = given;
  const columns = Object.entries(given.columns).map(([column, what]): ColumnDescription => {
    const [type, role] = typeof what === "string" ? [what, undefined] : what;
    const isFilled =
      given.generated === undefined
        ? (role === "id" && type !== "text") || role === "attempt"
        : given.generated.includes(column);
    return {
      property: column,
      name: column,
      type,
      nullable:
        (NULLABLE.includes(role) || role === undefined) && notNull?.includes(column) !== true,
      generated: isFilled ? "byDefault" : "never",
      ...(role && { role }),
    };
  });
  const roles = Object.fromEntries(
    columns.flatMap((each) => (each.role ? [[each.role, each]] : [])),
  );
  return {
    name,
    ...(given.schema !== undefined && { schema: given.schema }),
    form: formOf(roles, lockKey),
    columns,
    roles,
    fifo,
    attemptFrom,
    clock,
    ...(lockKey && {
      lockKey: lockKey.map((part) => {
        const column = columns.find((each) => each.name === part);
        return column === undefined ? { text: part } : { column };
      }),
    }),
  };
}

function formOf(roles: TableDescription["roles"], lockKey: unknown): FormName {
  if (lockKey !== undefined) return "advisoryLock";
  return roles.lockedUntil === undefined ? "rowLock" : "lease";
}

/** The described column, which is there. */
export function columnOf(table: TableDescription, name: string): ColumnDescription {
  const column = table.columns.find((each) => each.name === name);
  if (column === undefined) throw new Error(`${table.name} has no column ${name}`);
  return column;
}
