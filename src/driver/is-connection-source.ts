import { hasMethods } from "../options.ts";
import type { ConnectionSource } from "./connection.ts";

/**
 * Whether a value can be asked for connections: by its shape, so that a source made by hand or by
 * another copy of this library will do.
 */
export function isConnectionSource(value: unknown): value is ConnectionSource {
  if (!hasMethods(value, ["connect"]) || looksLikePool(value) || isMssqlPool(value)) return false;
  const max: unknown = Reflect.get(value, "max");
  const listen: unknown = Reflect.get(value, "listen");
  return (
    (max === undefined || typeof max === "number") &&
    (listen === undefined || typeof listen === "function")
  );
}

/**
 * What to say about a value that is no source; it names the adapter that is missing where it can.
 */
export function connectionSourceHint(value: unknown): string {
  if (hasMethods(value, ["connect"]) && looksLikePool(value)) {
    return "it is a pool of pg; wrap it: fromPg(pool)";
  }
  if (isMssqlPool(value)) {
    return "it is a pool of mssql; wrap it: fromMssql(sql, pool)";
  }
  if (hasMethods(value, ["unsafe", "reserve"])) {
    return "it is an sql of postgres.js; wrap it: fromPostgresJs(sql)";
  }
  if (hasMethods(value, ["exec", "transaction", "query"])) {
    return "it is a PGlite database; wrap it: fromPglite(db)";
  }
  return "it takes a source such as fromPg(pool), or an object with connect()";
}

/** A bare pool has `connect` too, and its clients know neither `begin` nor `commit`. */
function looksLikePool(value: object): boolean {
  return hasMethods(value, ["connect", "query", "end"]) && "totalCount" in value;
}

/** It has `connect` too, which opens the pool. */
function isMssqlPool(value: unknown): boolean {
  return hasMethods(value, ["connect", "request", "batch", "transaction"]);
}
