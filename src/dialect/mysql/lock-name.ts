/**
 * The name of a lock of GET_LOCK for a key: the database, a dot and the key; their SHA-256 where that is longer
 * than the 64 characters that a name may have. Two keys that a server takes for one name (it does not tell
 * capitals apart) wait for each other, and nothing worse.
 */
export function lockName(key: string): string {
  const name = `CONCAT(COALESCE(DATABASE(), ''), '.', ${key})`;
  return `CASE WHEN CHAR_LENGTH(${name}) > 64 THEN SHA2(${name}, 256) ELSE ${name} END`;
}
