/** What tests of an inbox's dead letters say in the words of each database. */
export interface DeadWords {
  /** Parameters: source, key, payload, state, last error, days since it was made and claimed. Answers `id`. */
  readonly insert: string;
  /** So many dead rows of the source "orders". */
  many(count: number): string;
  /** The keys of rows in a state, in order. Parameter: state. */
  readonly keys: string;
}

const POSTGRES: DeadWords = {
  insert: `INSERT INTO inbox (source, idempotency_key, payload, state, last_error, attempt, consumption,
      created_at, claimed_at, scheduled_at, headers)
    SELECT $1, $2, $3::jsonb, $4, $5, 5, 'pull', at, at, at, '{"a": "1"}'
    FROM (SELECT clock_timestamp() - $6::int * interval '1 day' AS at) AS m RETURNING id::text AS id`,
  many: (count) => `INSERT INTO inbox (source, idempotency_key, payload, state, consumption)
      SELECT 'orders', n::text, '{}', 'dead', 'pull' FROM generate_series(1, ${count}) AS n`,
  keys: "SELECT idempotency_key AS key FROM inbox WHERE state = $1 ORDER BY 1",
};

const DIGITS = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))";

export const SQLSERVER_DEAD: DeadWords = {
  insert: `INSERT INTO inbox (source, idempotency_key, payload, state, last_error, attempt, consumption,
      created_at, claimed_at, scheduled_at, headers)
    OUTPUT LOWER(CONVERT(varchar(36), inserted.id)) AS id
    SELECT @p1, @p2, @p3, @p4, @p5, 5, 'pull', m.made, m.made, m.made, N'{"a": "1"}'
    FROM (SELECT DATEADD(day, -CAST(@p6 AS int), SYSUTCDATETIME()) AS made) AS m;`,
  many: (count) => `INSERT INTO inbox (source, idempotency_key, payload, state, consumption)
    SELECT N'orders', CONVERT(nvarchar(20), s.n), N'{}', N'dead', 'pull'
    FROM (
      SELECT 1000 * a.d + 100 * b.d + 10 * c.d + e.d + 1 AS n
      FROM ${DIGITS} AS a (d) CROSS JOIN ${DIGITS} AS b (d) CROSS JOIN ${DIGITS} AS c (d) CROSS JOIN ${DIGITS} AS e (d)
    ) AS s
    WHERE s.n <= ${count};`,
  keys: "SELECT idempotency_key AS [key] FROM inbox WHERE state = @p1 ORDER BY idempotency_key;",
};

/** By the name that a source has for its database. */
export function deadWords(database: string): DeadWords {
  return database === "sqlserver" ? SQLSERVER_DEAD : POSTGRES;
}
