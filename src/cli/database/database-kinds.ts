import type { DatabaseKind } from "./database.ts";
import { mysqlKind } from "./open-mysql.ts";
import { postgresKind } from "./open-postgres.ts";
import { sqliteKind } from "./open-sqlite.ts";
import { sqlserverKind } from "./open-sqlserver.ts";

/** Every kind that the commands open; the first whose URL it is takes it. */
const KINDS: readonly DatabaseKind[] = [postgresKind, mysqlKind, sqlserverKind, sqliteKind];

/** Undefined for a URL that is none of theirs. */
export function kindOf(url: string): DatabaseKind | undefined {
  return KINDS.find((kind) => kind.isUrl(url));
}

/** What URLs of databases look like, as an error says it. */
export function knownUrls(): string {
  const all = KINDS.flatMap(({ urls }) => urls);
  return `${all.slice(0, -1).join(", ")} or ${all.at(-1)}`;
}
