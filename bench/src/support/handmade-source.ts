import type pg from "pg";
import type { InboxConnectionSource } from "../../../dist/queuebox.mjs";

/** A source of the six methods that the contract asks for, and nothing else. */
export function handmadeSource(pool: pg.Pool): InboxConnectionSource {
  return {
    async connect() {
      const client = await pool.connect();
      const query = async (text: string, params: readonly unknown[] = []) => {
        const { rows, rowCount } = await client.query(text, [...params]);
        return { rows, rowCount: rowCount ?? 0 };
      };
      return {
        query,
        begin: async () => void (await query("BEGIN")),
        commit: async () => void (await query("COMMIT")),
        rollback: async () => void (await query("ROLLBACK")),
        release: (error?: Error) => client.release(error),
      };
    },
  };
}
