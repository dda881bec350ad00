import type { Dialect } from "./dialect.ts";
import { mysql } from "./mysql/mysql.ts";
import { postgres } from "./postgres/postgres.ts";
import { sqlite } from "./sqlite/sqlite.ts";
import { sqlserver } from "./sqlserver/sqlserver.ts";

/** The dialects that come with the library, by their names. */
const DIALECTS: Readonly<Record<string, Dialect>> = { postgres, mysql, sqlite, sqlserver };

/** The built-in dialect of that name. @throws TypeError where there is none. */
export function dialectNamed(name: string): Dialect {
  const dialect = Object.hasOwn(DIALECTS, name) ? DIALECTS[name] : undefined;
  if (dialect === undefined) {
    const known = Object.keys(DIALECTS).join(", ");
    throw new TypeError(`there is no dialect "${name}" here; there are ${known}`);
  }
  return dialect;
}
