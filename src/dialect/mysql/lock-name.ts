import type { TableDescription } from "../../table/description.ts";
import { literal } from "./sql.ts";

/**
 * The name of a lock of GET_LOCK for a key: the table's database, whatever database the session is in, a dot and the
 * key; their SHA-256 where that is longer than the 64 characters that a name may have. Two keys that a server takes
 * for one name (MySQL does not tell capitals apart) wait for each other, and nothing worse.
 */
export function lockName({ schema }: TableDescription, key: string): string {
  const database = schema === undefined ? "COALESCE(DATABASE(), '')" : literal(schema);
  const name = `CONCAT(${database}, '.', ${key})`;
  return `CASE WHEN CHAR_LENGTH(${name}) > 64 THEN SHA2(${name}, 256) ELSE ${name} END`;
}
