import type { Dialect } from "../dialect/dialect.ts";
import { dialectNamed } from "../dialect/dialects.ts";
import type { ConnectionSource } from "../driver/connection.ts";
import { hasMethods, isObject, shown } from "../options.ts";

/** The dialect that a source's database takes. @throws TypeError where nobody knows which database it is. */
export function dialectOf(source: ConnectionSource, given: Dialect | undefined): Dialect {
  if (given !== undefined) {
    if (isDialect(given)) return given;
    throw new TypeError(`dialect takes a Dialect, not ${shown(given)}`);
  }
  if (source.database !== undefined) return dialectNamed(source.database);
  throw new TypeError(
    'Broker: the connection source does not say which database is behind it: give it the property database, such as "postgres", or the broker the option dialect',
  );
}

export function isDialect(value: unknown): value is Dialect {
  return isObject(value) && hasMethods(value, ["begin", "insert", "placeholder"]);
}
