import { createHash } from "node:crypto";
import type { Connection } from "../../src/driver/connection.ts";
import type { OpenedForm } from "./form-table.ts";
import { until } from "./until.ts";

/** The lock of a key as anybody can name it, who is to stay out of the way of a table's rows. */
export interface KeyLocks {
  /** How many characters of a row's text the lock's name holds as they are; undefined where any number. */
  readonly longest: number | undefined;
  /** Takes the lock of a row's text for this session, unless another has it. */
  take(session: Connection, text: string): Promise<boolean>;
  give(session: Connection, text: string): Promise<void>;
}

/** How a table names its keys: `key-a` of the table `jobs`. */
interface KeyNames {
  readonly table: string;
  readonly keyOf: (text: string) => string;
}

/** Of the rows of a form's table, by their texts; or of those of another table. */
export async function keyLocksOf(
  { dialect, query }: Pick<OpenedForm, "dialect" | "query">,
  { keyOf, table }: KeyNames = { table: "jobs", keyOf: formKey },
): Promise<KeyLocks> {
  switch (dialect) {
    case "postgres": {
      const number = `hashtextextended('${table}.' || $1::text, 0)`;
      return byStatements({
        name: keyOf,
        take: `SELECT pg_try_advisory_lock(${number})::int AS taken`,
        give: `SELECT pg_advisory_unlock(${number})`,
      });
    }
    case "mysql": {
      const { rows } = await query<{ name: string }>("SELECT DATABASE() AS name");
      const database = `${rows[0]?.name}.`;
      return byStatements({
        longest: 64 - (database + keyOf("")).length,
        name: (text) => shortened(database + keyOf(text), 64, "utf8"),
        take: "SELECT GET_LOCK(?, 0) AS taken",
        give: "SELECT RELEASE_LOCK(?)",
      });
    }
    case "sqlserver":
      return byStatements({
        longest: 255 - keyOf("").length,
        name: (text) => shortened(keyOf(text), 255, "utf16le").toUpperCase(),
        take: `DECLARE @granted int;
          EXEC @granted = sp_getapplock @Resource = @p1, @LockMode = N'Exclusive', @LockOwner = N'Session',
            @LockTimeout = 0;
          SELECT CASE WHEN @granted >= 0 THEN 1 ELSE 0 END AS taken`,
        give: "EXEC sp_releaseapplock @Resource = @p1, @LockOwner = N'Session'",
      });
    default:
      return {
        longest: undefined,
        take: async ({ locks }, text) => (await locks?.tryLock(keyOf(text))) === true,
        give: async ({ locks }, text) => void (await locks?.unlock(keyOf(text))),
      };
  }
}

const formKey = (text: string) => `key-${text}`;

/** The text, or its SHA-256 where it has too many characters. */
function shortened(text: string, most: number, encoding: BufferEncoding): string {
  if (text.length <= most) return text;
  return createHash("sha256").update(text, encoding).digest("hex");
}

interface LockStatements {
  readonly longest?: number;
  readonly name: (text: string) => string;
  readonly take: string;
  readonly give: string;
}

function byStatements({ give, longest, name, take }: LockStatements): KeyLocks {
  return {
    longest,
    async take(session, text) {
      const { rows } = await session.query<{ taken: unknown }>(take, [name(text)]);
      return Number(rows[0]?.taken) === 1;
    },
    give: async (session, text) => void (await session.query(give, [name(text)])),
  };
}

/** What a session holds. */
export interface Holder {
  readonly locks: number;
  readonly inTransaction: boolean;
}

/** The sessions that hold locks of the form's table, as a session beside them sees them. */
export async function holdersOf(jobs: OpenedForm, texts: readonly string[]): Promise<Holder[]> {
  const session = await jobs.another().connect();
  try {
    if (jobs.dialect === "mysql") return await holdersOnMysql(session, texts);
    if (jobs.dialect === "sqlite") return await holdersOnSqlite(session);
    const listed = LISTS[jobs.dialect];
    if (listed === undefined) throw new Error(`the tests have no words for ${jobs.dialect} yet`);
    const { rows } = await session.query<{ locks: unknown; in_transaction: unknown }>(listed);
    return rows.map((row) => ({
      locks: Number(row.locks),
      inTransaction: Number(row.in_transaction) === 1,
    }));
  } finally {
    await session.rollback();
    await session.release();
  }
}

/** Where a server lists its sessions' locks. */
const LISTS: Readonly<Record<string, string>> = {
  postgres: `SELECT count(*)::int AS locks, (a.state <> 'idle')::int AS in_transaction
    FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    GROUP BY a.pid, a.state`,
  sqlserver: `SELECT COUNT(*) AS locks, CASE WHEN s.open_transaction_count > 0 THEN 1 ELSE 0 END AS in_transaction
    FROM sys.dm_tran_locks AS l JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id
    WHERE l.resource_type = N'APPLICATION' AND l.resource_database_id = DB_ID()
    GROUP BY s.session_id, s.open_transaction_count`,
};

/** Locks are not listed there: each key is asked for. */
async function holdersOnMysql(session: Connection, texts: readonly string[]): Promise<Holder[]> {
  await session.begin();
  await session.query("SELECT COUNT(*) AS n FROM jobs");
  const locks = new Map<number, number>();
  for (const text of texts) {
    const { rows } = await session.query<{ holder: unknown }>(
      "SELECT IS_USED_LOCK(CONCAT(DATABASE(), '.', ?)) AS holder",
      [formKey(text)],
    );
    const holder = Number(rows[0]?.holder ?? 0);
    if (holder > 0) locks.set(holder, (locks.get(holder) ?? 0) + 1);
  }
  // The server tells of transactions from memory unless it was not asked for a tenth of a second: with this one in
  // it, its answer is of now.
  const open = await until(
    async () => {
      const { rows } = await session.query<{ id: unknown; own: unknown }>(
        "SELECT trx_mysql_thread_id AS id, trx_mysql_thread_id = CONNECTION_ID() AS own FROM information_schema.INNODB_TRX",
      );
      return rows.some(({ own }) => Number(own) === 1) && rows.map(({ id }) => Number(id));
    },
    { interval: 130 },
  );
  return [...locks].map(([id, count]) => ({ locks: count, inTransaction: open.includes(id) }));
}

async function holdersOnSqlite(session: Connection): Promise<Holder[]> {
  const held = (await session.locks?.held()) ?? [];
  // What is busy has a transaction open that writes, or still reads what the log is to be cut off from.
  const { rows } = await session.query<{ busy: unknown }>("PRAGMA wal_checkpoint(TRUNCATE)");
  return held.length === 0
    ? []
    : [{ locks: held.length, inTransaction: Number(rows[0]?.busy) !== 0 }];
}
