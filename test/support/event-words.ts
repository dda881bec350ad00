import { dialectNamed } from "../../src/dialect/dialects.ts";

/** The connection of an event. */
export interface EventConn {
  query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number }>;
}

/** What events of the service's own say in the words of each database. */
export interface EventWords {
  /** For ORDER BY: rows in no order. */
  readonly random: string;
  /** Behind a SELECT that looks for rows to claim: locks them where rows have locks. */
  readonly skipLocked: string;
  /** The same behind the table's name, where that is the place for it. */
  readonly skipLockedHint: string;
  /** The first so many rows: the parameter at this position. */
  limit(position: number): string;
  /** A value of such a type: the parameter at this position. */
  value(type: "bigint" | "text", position: number): string;
  /** A lease as a service would write it: whether there was such a row. */
  writeLease(conn: EventConn, id: bigint, end: Date, condition?: string): Promise<boolean>;
  /** What the locks need, if anything. */
  readonly locks?: string;
  lock(conn: EventConn, key: string): Promise<boolean>;
  unlock(conn: EventConn, key: string): Promise<boolean>;
  /** How many of these keys are locked: one row, `held`. */
  held(keys: readonly string[]): string;
  /** A session that ends leaves none of its locks behind. */
  readonly endWithSession: boolean;
}

interface LockWords {
  readonly locks?: string;
  readonly lock: string;
  readonly unlock: string;
  readonly held: EventWords["held"];
  readonly endWithSession: boolean;
}

/** Of this database alone: tests share a server. */
const named = (key: string) => `CONCAT(DATABASE(), '/own/', ${key})`;

/** Locks in a space of their own, as a service would share them with other programs. */
const LOCKS: Readonly<Record<string, LockWords>> = {
  postgres: {
    lock: "SELECT pg_try_advisory_lock(7, hashtext($1::text)) AS answer",
    unlock: "SELECT pg_advisory_unlock(7, hashtext($1::text)) AS answer",
    held: () =>
      "SELECT count(*)::int AS held FROM pg_locks WHERE locktype = 'advisory' AND classid = 7 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    endWithSession: true,
  },
  mysql: {
    lock: `SELECT GET_LOCK(${named("?")}, 0) AS answer`,
    unlock: `SELECT RELEASE_LOCK(${named("?")}) AS answer`,
    held: (keys) => {
      const isHeld = keys.map((key) => `(IS_USED_LOCK(${named(`'${key}'`)}) IS NOT NULL)`);
      return `SELECT ${isHeld.join(" + ")} AS held`;
    },
    endWithSession: true,
  },
  sqlserver: {
    lock: `DECLARE @name nvarchar(255) = CONCAT(N'own/', @p1), @granted int;
      EXEC @granted = sp_getapplock @Resource = @name, @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0;
      SELECT CASE WHEN @granted >= 0 THEN 1 ELSE 0 END AS answer`,
    unlock: `SET XACT_ABORT OFF;
      DECLARE @name nvarchar(255) = CONCAT(N'own/', @p1), @released int;
      BEGIN TRY
        EXEC @released = sp_releaseapplock @Resource = @name, @LockOwner = N'Session';
      END TRY
      BEGIN CATCH
        IF ERROR_NUMBER() <> 1223 THROW;
      END CATCH;
      SELECT CASE WHEN @released = 0 THEN 1 ELSE 0 END AS answer`,
    held: () => `SELECT COUNT(*) AS held FROM sys.dm_tran_locks WHERE resource_type = N'APPLICATION'
      AND request_status = N'GRANT' AND resource_database_id = DB_ID() AND resource_description LIKE N'%[[]own/%'`,
    endWithSession: true,
  },
  // There is nothing that a session could lock: rows of a table.
  sqlite: {
    locks: "CREATE TABLE own_locks (name TEXT PRIMARY KEY)",
    lock: "INSERT INTO own_locks (name) VALUES (?) ON CONFLICT DO NOTHING RETURNING 1 AS answer",
    unlock: "DELETE FROM own_locks WHERE name = ? RETURNING 1 AS answer",
    held: () => "SELECT count(*) AS held FROM own_locks",
    endWithSession: false,
  },
};

const RANDOM: Readonly<Record<string, string>> = { mysql: "RAND()", sqlserver: "NEWID()" };

/** Of a dialect, by its name. */
export function eventWordsOf(name: string): EventWords {
  const dialect = dialectNamed(name);
  const locks = LOCKS[name];
  if (locks === undefined) throw new Error(`the tests have no locks for ${name} yet`);
  const { bigint, text, timestamp } = dialect.types;
  const types = { bigint, text };
  const at = (position: number) => dialect.placeholder(position);
  const answers = async (conn: EventConn, statement: string, key: string) => {
    const { rows } = await conn.query<{ answer: unknown }>(statement, [key]);
    return Number(rows[0]?.answer ?? 0) === 1;
  };
  const isSqlServer = name === "sqlserver";
  const locksRows = dialect.features.forms.includes("rowLock");
  return {
    random: RANDOM[name] ?? "random()",
    // On SQL Server a hint stands behind the table's name.
    skipLocked: locksRows && !isSqlServer ? "FOR UPDATE SKIP LOCKED" : "",
    skipLockedHint: isSqlServer ? "WITH (UPDLOCK, READPAST, ROWLOCK)" : "",
    limit: (position) =>
      isSqlServer
        ? `OFFSET 0 ROWS FETCH NEXT (CAST(${at(position)} AS int)) ROWS ONLY`
        : `LIMIT ${name === "mysql" ? at(position) : bigint.write(at(position))}`,
    value: (type, position) => types[type].write(at(position)),
    async writeLease(conn, id, end, condition = "1 = 1") {
      const { rowCount } = await conn.query(
        `UPDATE jobs SET lease = ${timestamp.write(at(1))} WHERE id = ${bigint.write(at(2))} AND ${condition}`,
        [timestamp.encode(end), String(id)],
      );
      return rowCount === 1;
    },
    ...locks,
    lock: (conn, key) => answers(conn, locks.lock, key),
    unlock: (conn, key) => answers(conn, locks.unlock, key),
  };
}
