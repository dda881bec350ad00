import type { InboxStatement } from "../inbox-statement.ts";

/**
 * Which settings of this session end a transaction that takes or pauses too long: a row each, `name`
 * and `ms`. No parameters.
 */
export function timeoutsStatement(): InboxStatement {
  return {
    text: `SELECT name, setting::int AS ms
FROM pg_settings
WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout') AND setting::bigint > 0
ORDER BY name`,
    params: [],
  };
}
