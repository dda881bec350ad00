/** A dialect as a service writes it: nothing is imported but the package's entry points. */
import {
  type ClaimSettings,
  type Dialect,
  type LeaseSettings,
  postgresDialect,
  type RowLockStatements,
  type Statement,
  type TableDescription,
} from "../../../src/index.ts";

const { advisoryLock: _, admin: __, checkDeferred: ___, ...rest } = postgresDialect;

/**
 * A database that speaks PostgreSQL's protocol, has no advisory locks and no notifications, and claims by a
 * statement of its own, with a clock of its own.
 */
export const frogDb: Dialect = {
  ...rest,
  name: "frogdb",
  features: { ...rest.features, forms: ["rowLock", "lease"], listenNotify: false },
  rowLock,
  lease: (table: TableDescription, settings: LeaseSettings) => {
    const built = postgresDialect.lease?.(table, settings);
    if (built === undefined) throw new Error("PostgreSQL has leases");
    return built;
  },
};

function rowLock(table: TableDescription, settings: ClaimSettings): RowLockStatements {
  const built = postgresDialect.rowLock?.(table, settings);
  if (built === undefined) throw new Error("PostgreSQL has row locks");
  return { ...built, claim: claim(table, settings) };
}

function claim(table: TableDescription, { columns, groups }: ClaimSettings): Statement {
  const { attempt, group, id, priority, processedAt, retryAfter } = table.roles;
  if (id === undefined) throw new Error("every table has an id");
  const params: string[] = [];
  const param = (name: string) => frogDb.placeholder(params.push(name));
  const named = (column: { readonly name: string } | undefined) =>
    column === undefined ? undefined : frogDb.quoted(column.name);
  const text = (column: { readonly name: string } | undefined) =>
    `${named(column) ?? "NULL"}::text`;
  const conditions = [
    ...(groups === "one" && group ? [`${named(group)} = ${param("group")}`] : []),
    ...(retryAfter ? [`coalesce(${named(retryAfter)} <= frog_clock(), true)`] : []),
    ...(processedAt ? [`${named(processedAt)} IS NULL`] : []),
  ];
  const order = [
    ...(priority ? [`${named(priority)} ASC NULLS LAST`] : []),
    ...(retryAfter ? [`${named(retryAfter)} ASC NULLS FIRST`] : []),
    `${named(id)}`,
  ];
  const cells = columns.map(
    ({ name, type }, index) => `${frogDb.types[type].read(frogDb.quoted(name))} AS c${index}`,
  );
  return {
    text: `SELECT ${[
      `${text(id)} AS id`,
      "NULL AS token",
      `${text(attempt)} AS attempt`,
      `${text(group)} AS "group"`,
      "NULL AS key",
      ...cells,
    ].join(", ")}
FROM ${frogDb.quoted(table.name)}
WHERE ${["true", ...conditions].join(" AND ")}
ORDER BY ${order.join(", ")}
LIMIT ${param("limit")}::int
FOR UPDATE SKIP LOCKED`,
    params,
  };
}
