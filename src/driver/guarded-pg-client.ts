import type { GuardedClient } from "./connection.ts";
import type { PgClientLike } from "./pg-types.ts";

export function guardPgClient(client: PgClientLike, _open: () => Promise<void>): GuardedClient {
  return { client, close() {}, async settled() {} };
}
