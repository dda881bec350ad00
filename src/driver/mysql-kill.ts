/** The end of a session whose connection was closed with a statement still running. */
import { isObject } from "../options.ts";
import { orAbort } from "../time-limit.ts";
import type { MysqlClient } from "./mysql-connection.ts";

/** Milliseconds; after them the server is left to find out by itself. */
const PATIENCE_MS = 2000;

/** As much of a statement as the list of sessions shows. */
const SHOWN = 100;

/**
 * Ends the session with that number, on a connection from the same pool. Only one that is at work on that text
 * is meant: behind a proxy, or where the server was started anew, the number may be somebody else's.
 */
export async function killSession(
  session: number,
  text: string,
  connect: () => Promise<Pick<MysqlClient, "query" | "release" | "destroy">>,
): Promise<void> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const inTime = <T>(answer: Promise<T>) => orAbort(answer, patience);
  try {
    const other = await orAbort(connect(), patience, (late) => void late.release());
    try {
      const sessions = await inTime(other.query("SHOW PROCESSLIST"));
      const isMeant = (row: unknown) => isObject(row) && isAtWork(row, session, text);
      if (Array.isArray(sessions) && sessions.some(isMeant)) {
        await inTime(other.query(`KILL ${session}`));
      }
      await inTime(Promise.resolve(other.release()));
    } catch {
      // It may have an answer to come: nobody else is to have it, and its release could wait for ever.
      await other.destroy();
    }
  } catch {
    // Not to be reached: the connection is closed, and the server ends the session when it sees that.
  }
}

/** A statement with parameters is shown with their values. */
function isAtWork(row: object, session: number, text: string): boolean {
  const shown: unknown = Reflect.get(row, "Info");
  const [start = ""] = text.trimStart().slice(0, SHOWN).split("?");
  return Number(Reflect.get(row, "Id")) === session && String(shown).startsWith(start);
}
