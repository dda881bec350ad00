/**
 * Advisory locks: the session holds the row's key by GET_LOCK, and no transaction is open while the handler runs.
 *
 * The claim reads rows in their order, past those whose keys are held, and tries the keys of the first ones, one
 * row a key: a session that holds a key gets it again, and would then take a second row of it. With the key
 * locked, the row is locked and looked at as it is now: whoever held the key before may have settled it since. A
 * key that was locked in vain is released at once. If the claim fails, though, the session keeps what it had
 * locked: then its connection must be closed.
 */
import type { TableDescription } from "../../table/description.ts";
import { bind } from "../bind.ts";
import type { AdvisoryLockStatements, ClaimSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { lockName } from "./lock-name.ts";
import { claimedColumns, lockKey, ofGroup, stillOfGroup } from "./table-claim.ts";
import { candidates, takeLocked } from "./table-custom.ts";
import { assigned, counted, given, isGiven, uncounted } from "./table-given.ts";
import { all, TableSql } from "./table-names.ts";
import { dueRows, place } from "./table-order.ts";
import { type Build, programOf, updating } from "./table-program.ts";
import { settlements } from "./table-settle.ts";

export function advisoryLockStatements(
  table: TableDescription,
  settings: ClaimSettings,
): AdvisoryLockStatements {
  const build = () => new TableSql(table);
  return {
    claim: claim(build, settings),
    unlock: UNLOCK,
    release: release(build),
    ...settlements(build, settings, false),
    ...(table.custom?.lock !== undefined && {
      candidates: candidates(build(), settings),
      take: takeLocked(build, settings),
    }),
  };
}

const LOCK: Statement = { text: "SELECT GET_LOCK(?, 0) AS taken", params: ["lock"] };
const UNLOCK: Statement = {
  text: "SELECT COALESCE(RELEASE_LOCK(?), 0) AS released",
  params: ["lock"],
};

function claim(build: Build, settings: ClaimSettings): Statement {
  const found = freeCandidates(build(), settings);
  const row = lockRow(build(), settings);
  const counting = counts(build());
  return programOf([found, LOCK, row, UNLOCK, ...(counting ? [counting] : [])], function* (values) {
    const limit = Number(values["limit"]);
    const claimed: Readonly<Record<string, unknown>>[] = [];
    const tried = new Set<unknown>();
    for (const { id, lock } of (yield bind(found, values)).rows) {
      if (claimed.length >= limit) break;
      if (tried.has(lock)) continue;
      tried.add(lock);
      const { rows: answers } = yield bind(LOCK, { lock });
      if (Number(answers[0]?.["taken"]) !== 1) continue;
      const [taken] = (yield bind(row, { ...values, id })).rows;
      if (taken !== undefined && taken["lock"] === lock) claimed.push(taken);
      else yield bind(UNLOCK, { lock });
    }
    if (counting !== undefined && claimed.length > 0) {
      yield bind(counting, { ...values, ids: claimed.map(({ id }) => id) });
    }
    return claimed;
  });
}

/** How many rows are looked at whose keys nobody holds; as many of one key hide no other. */
const rowsAhead = 200;

/** The first rows in order whose keys nobody holds: `id`, `lock`. */
function freeCandidates(sql: TableSql, settings: ClaimSettings): Statement {
  const lock = lockName(sql.table, lockKey(sql));
  const conditions = [
    ...ofGroup(sql, settings),
    ...sql.open(),
    ...sql.free(),
    `IS_FREE_LOCK(${lock}) = 1`,
  ];
  const rows = dueRows(sql, { conditions, extra: [`${lock} AS lock_name`] }, rowsAhead);
  return sql.statement(`SELECT CAST(candidate.id AS CHAR) AS id, candidate.lock_name AS \`lock\`
FROM (
  ${rows}
) AS candidate
ORDER BY ${place(sql, "candidate")}`);
}

function lockRow(sql: TableSql, settings: ClaimSettings): Statement {
  const columns = claimedColumns(sql, settings, { counts: true });
  return sql.statement(`SELECT ${columns}, ${lockName(sql.table, lockKey(sql))} AS \`lock\`
FROM ${sql.byId}
WHERE ${all(`i.${sql.id} = ${sql.idValue()}`, stillOfGroup(sql, settings), sql.claimable())}
FOR UPDATE SKIP LOCKED`);
}

function counts(sql: TableSql): Statement | undefined {
  const changes = counted(sql);
  if (changes.length === 0) return undefined;
  return sql.statement(`UPDATE ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
SET ${assigned(changes)}`);
}

/** For a row whose handler did not start. Without an attempt there is nothing to take off. */
function release(build: Build): Statement {
  if (uncounted(build()).length > 0) return updating(build, (sql) => uncounted(sql));
  const sql = build();
  return sql.statement(`SELECT CAST(g.id AS CHAR) AS id FROM ${given(sql)}`);
}
