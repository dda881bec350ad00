/** What the database says of a described table, and of itself. */
import type { TableDescription } from "../../table/description.ts";
import { bind } from "../bind.ts";
import type { Statement } from "../statement.ts";
import { literal } from "./sql.ts";
import { IN_SESSION_ZONE } from "./table-column-types.ts";
import { programOf } from "./table-program.ts";

/** `'utc'` names it in whatever case; SYSTEM is what the server's machine says. */
const IS_UTC = `(UPPER(@@session.time_zone) IN ('+00:00', 'UTC')
    OR (@@session.time_zone = 'SYSTEM' AND @@system_time_zone IN ('UTC', 'GMT')))`;

const TELLS_LOCAL_TIME =
  "is a TIMESTAMP, which the session tells in its own time zone and not in UTC: let it be a DATETIME(6), or connect with the time zone +00:00";

/** What the session's driver sends and gets text in; NULL gives it as it is stored. */
const HAS_EVERY_CHARACTER = `(@@session.character_set_client = 'utf8mb4'
    AND COALESCE(@@session.character_set_results, 'utf8mb4') = 'utf8mb4')`;

const LOSES_CHARACTERS =
  ", which does not have every character: connect with the character set utf8mb4";

const IS_STRICT = `(FIND_IN_SET('STRICT_TRANS_TABLES', @@session.sql_mode) > 0
    OR FIND_IN_SET('STRICT_ALL_TABLES', @@session.sql_mode) > 0)`;

const CUTS_VALUES =
  "is written in a session whose sql_mode has neither STRICT_TRANS_TABLES nor STRICT_ALL_TABLES, and so cuts or changes what does not fit without a word: add STRICT_TRANS_TABLES to the sql_mode of the server, or of each session of the pool";

/**
 * A row a column: `name`, `type` as the database writes it, `nullable`, `generated` (never, byDefault,
 * always), `precision` of a time. No rows: there is no such table.
 */
export function columnsStatement({ name, schema }: TableDescription): Statement {
  return {
    text: `SELECT
  c.COLUMN_NAME AS name,
  CONCAT(c.COLUMN_TYPE, CASE WHEN c.DATA_TYPE = 'timestamp' AND NOT ${IS_UTC} THEN ' ${IN_SESSION_ZONE}' ELSE '' END) AS type,
  c.IS_NULLABLE = 'YES' AS nullable,
  CASE
    WHEN c.GENERATION_EXPRESSION > '' THEN 'always'
    WHEN c.EXTRA LIKE '%auto_increment%' OR NULLIF(c.COLUMN_DEFAULT, 'NULL') IS NOT NULL THEN 'byDefault'
    ELSE 'never'
  END AS \`generated\`,
  c.DATETIME_PRECISION AS \`precision\`,
  CASE
    WHEN c.DATA_TYPE = 'timestamp' AND NOT ${IS_UTC} THEN ${literal(TELLS_LOCAL_TIME)}
    WHEN (c.DATA_TYPE = 'json' OR c.CHARACTER_SET_NAME <> 'ascii') AND NOT ${HAS_EVERY_CHARACTER}
      THEN CONCAT('is text, and the session is in ', @@session.character_set_client, ${literal(LOSES_CHARACTERS)})
    WHEN NOT ${IS_STRICT} THEN ${literal(CUTS_VALUES)}
  END AS fault
FROM information_schema.COLUMNS AS c
WHERE c.TABLE_SCHEMA = ${schema === undefined ? "DATABASE()" : literal(schema)} AND c.TABLE_NAME = ${literal(name)}
ORDER BY c.ORDINAL_POSITION`,
    params: [],
  };
}

/** The two count apart: 1 is new enough, 0 is not. */
export const versionStatement: Statement = {
  text: `SELECT CASE
  WHEN VERSION() LIKE '%MariaDB%' THEN ${atLeast(10, 6, 0)}
  ELSE ${atLeast(8, 0, 4)}
END AS version, VERSION() AS label`,
  params: [],
};

/** SKIP LOCKED came with MySQL 8.0.1 and MariaDB 10.6.0, JSON_TABLE with 8.0.4 and 10.6.0. */
export const oldestVersion = { version: 1, label: "MySQL 8.0.4 or MariaDB 10.6" } as const;

function atLeast(major: number, minor: number, patch: number): string {
  const part = (n: number) =>
    `CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '-', 1), '.', ${n}), '.', -1) AS SIGNED)`;
  const found = `(1000000 * ${part(1)} + 1000 * ${part(2)} + ${part(3)})`;
  return `${found} >= ${1_000_000 * major + 1000 * minor + patch}`;
}

/** A transaction of the library's opens at this level where its table names none. */
export const isolationStatement: Statement = {
  text: "SELECT 'readCommitted' AS level",
  params: [],
};

export const sessionStatement: Statement = {
  text: "SELECT CAST(CONNECTION_ID() AS CHAR) AS session",
  params: [],
};

/** Names that the two servers do not share are asked for by SHOW, which leaves out those it does not know. */
const settings: Statement = {
  text: `SHOW SESSION VARIABLES WHERE Variable_name IN
  ('wait_timeout', 'idle_transaction_timeout', 'idle_write_transaction_timeout')`,
  params: [],
};

/** Every session has a \`wait_timeout\`, of eight hours by default; a short one is worth a word. */
export const timeoutsStatement: Statement = programOf(
  [settings],
  function* () {
    const { rows } = yield bind(settings, {});
    return rows
      .map((row) => ({ name: String(row["Variable_name"]), ms: 1000 * Number(row["Value"]) }))
      .filter(({ ms, name }) => ms > 0 && (name !== "wait_timeout" || ms < SHORT_WAIT_MS));
  },
  () => true,
);

const SHORT_WAIT_MS = 600_000;
