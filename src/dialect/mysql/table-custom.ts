/**
 * What the library does around a service's own events: it takes the rows that a claim named, as far as they can be
 * claimed still; it reads the keys of rows that a lock is to be tried for; it looks at leases before and after an
 * event extended them. In which order rows go out, the event itself has decided.
 *
 * Of a fifo group one row is in work all the same, whichever rows a claim names: the first named one, and only where
 * the group is free, by what the form's own claim goes by. So named rows are read first, without a lock, and of each
 * group one is tried: a claim that locked more of them would keep them from another that takes the group.
 */
import { bind } from "../bind.ts";
import type { ClaimSettings, LeaseSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { givenCount } from "./given.ts";
import { time, timeText } from "./sql.ts";
import {
  claimedColumns,
  inOrder,
  lockKey,
  ofGroup,
  stamped,
  stillOfGroup,
  type Taking,
} from "./table-claim.ts";
import { noneLeased, staleOthers, takingOver } from "./table-fifo.ts";
import { assigned, counted, given, givenInPlace, isGiven, ours } from "./table-given.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { all, bytes, type TableSql } from "./table-names.ts";
import { dueRows, place } from "./table-order.ts";
import { type Build, programOf } from "./table-program.ts";
import { types } from "./types.ts";

type Row = Readonly<Record<string, unknown>>;

/** Those of the given rows that can be claimed still, locked, in the order in which they were given. */
export function takeRows(sql: TableSql, settings: ClaimSettings): Statement {
  return lockNamed(sql, settings, { counts: false });
}

/** The same, and leased. */
export function takeLeases(
  build: Build,
  settings: ClaimSettings,
  taking: (sql: TableSql) => Taking,
  stamp: Statement,
): Statement {
  const sql = build();
  const locked = lockNamed(sql, settings, taking(sql));
  return programOf([locked, stamp], function* (values) {
    const { rows } = yield bind(locked, values);
    if (rows.length > 0) yield bind(stamp, stamped(values, rows));
    return rows;
  });
}

/** The same of a fifo table. */
export function takeFifoLeases(
  build: Build,
  settings: ClaimSettings,
  taking: (sql: TableSql) => Taking,
  stamp: Statement,
): Statement {
  const [reading, locking] = [build(), build()];
  const named = readNamed(reading, settings, groupOf(reading), noneLeased(reading, idOf(reading)));
  const locked = lockNamed(locking, settings, taking(locking), {
    columns: `,\n  ${staleOthers(locking, idOf(locking))} AS stale`,
    condition: noneLeased(locking, idOf(locking)),
  });
  const over = takingOver(build, stamp);
  return programOf([named, locked, ...over.parts], function* (values) {
    const heads = firstOfEach((yield bind(named, values)).rows);
    if (heads.length === 0) return [];
    const { rows } = yield bind(locked, { ...values, ids: heads.map(({ id }) => id) });
    return yield* over.run(values, rows);
  });
}

function idOf(sql: TableSql): string {
  return `i.${sql.id}`;
}

function groupOf(sql: TableSql): string {
  return `CAST(${sql.of("group")} AS CHAR)`;
}

/**
 * The given rows that can be claimed, in the order in which they were given: `id` and `shared`, of which one row
 * can be in work. Locks nothing.
 */
export function readNamed(
  sql: TableSql,
  settings: ClaimSettings,
  shared: string,
  isFree: string,
): Statement {
  return inOrder(
    sql.statement(`SELECT CAST(i.${sql.id} AS CHAR) AS id, ${shared} AS shared, g.place AS turn
FROM ${givenInPlace(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
WHERE ${all(stillOfGroup(sql, settings), sql.claimable(), isFree)}`),
  );
}

/** The first row of all that share something. */
export function firstOfEach(rows: readonly Row[]): Row[] {
  const seen = new Set<unknown>();
  return rows.filter(({ shared }) => !seen.has(shared) && seen.add(shared));
}

function lockNamed(
  sql: TableSql,
  settings: ClaimSettings,
  taking: Taking,
  more: { readonly columns: string; readonly condition: string } | undefined = undefined,
): Statement {
  const conditions = [...stillOfGroup(sql, settings), ...sql.claimable()];
  if (more !== undefined) conditions.push(more.condition);
  return inOrder(
    sql.statement(`SELECT ${claimedColumns(sql, settings, taking)},
  g.place AS turn${more?.columns ?? ""}
FROM ${givenInPlace(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
WHERE ${all(conditions)}
FOR UPDATE SKIP LOCKED`),
  );
}

/**
 * group (if one), ids, key. The row, if it is claimable still and has the key: whoever held the key before may have
 * settled it.
 */
export function takeLocked(build: Build, settings: ClaimSettings): Statement {
  const [locking, writing] = [build(), build()];
  const isKeys = `${bytes(lockKey(locking))} = ${bytes(locking.param("key"))}`;
  const locked = lockNamed(locking, settings, { counts: true }, { columns: "", condition: isKeys });
  const changes = counted(writing);
  if (changes.length === 0) return locked;
  const change = writing.statement(
    `UPDATE ${given(writing)} STRAIGHT_JOIN ${writing.byId} ON ${isGiven(writing)}
SET ${assigned(changes)}`,
  );
  return programOf([locked, change], function* (values) {
    const { rows } = yield bind(locked, values);
    if (rows.length > 0) yield bind(change, { ...values, ids: rows.map(({ id }) => id) });
    return rows;
  });
}

/**
 * group (if one), limit, keys. The first row of each key, in order, but for the keys that are named. Answers `id`
 * and `key`. Keys are told apart by their bytes: a lock of the service's own may tell capitals apart.
 */
export function candidates(sql: TableSql, settings: ClaimSettings): Statement {
  const key = lockKey(sql);
  const isTried = `${bytes(key)} IN (
      SELECT ${bytes("tried.name")}
      FROM JSON_TABLE(${sql.param("keys")}, '$[*]' COLUMNS (name LONGTEXT PATH '$')) AS tried
    )`;
  const conditions = [...ofGroup(sql, settings), ...sql.open(), ...sql.free(), `NOT ${isTried}`];
  const extra = [`${key} AS lock_key`];
  // Many rows may share a key; one that leaves too few is read behind by the next statement.
  const rows = dueRows(sql, { conditions, extra }, 2 * settings.mostRows + 10);
  return sql.statement(`SELECT CAST(ranked.id AS CHAR) AS id, ranked.lock_key AS \`key\`
FROM (
  SELECT ahead.*, ROW_NUMBER() OVER (
    PARTITION BY ${bytes("ahead.lock_key")} ORDER BY ${place(sql, "ahead")}
  ) AS turn
  FROM (
    ${rows}
  ) AS ahead
) AS ranked
WHERE ranked.turn = 1
ORDER BY ${place(sql, "ranked")}
LIMIT ${sql.param("limit")}`);
}

/**
 * ids, tokens, attempts, leaseMs. Locks the rows that are ours, whose leases have not run out and that nobody has
 * locked; answers for each `id`, `outcome` (ours, locked, lost), and of ours `held` and `until`: the lease's end as
 * it is and as it is to be.
 */
export function extendable(build: Build, settings: LeaseSettings): Statement {
  const { read } = types.timestamp;
  const [locking, seeing] = [build(), build()];
  const locked = locking.statement(`SELECT CAST(i.${locking.id} AS CHAR) AS id,
  ${read(locking.of("lockedUntil") ?? "NULL")} AS held,
  ${read(leaseEnd(locking, settings))} AS until
FROM ${given(locking)} STRAIGHT_JOIN ${locking.byId} ON ${ours(locking, true)}
FOR UPDATE SKIP LOCKED`);
  const seen = seeing.statement(`SELECT CAST(i.${seeing.id} AS CHAR) AS id
FROM ${given(seeing)} STRAIGHT_JOIN ${seeing.byId} ON ${ours(seeing, true)}`);
  return programOf([locked, seen], function* (values) {
    const mine = (yield bind(locked, values)).rows;
    const others = mine.length < givenCount(values) ? (yield bind(seen, values)).rows : [];
    const byId = new Map(mine.map((row) => [row["id"], row]));
    const there = new Set(others.map(({ id }) => id));
    const ids: readonly unknown[] = Array.isArray(values["ids"]) ? values["ids"] : [];
    return ids.map((id) => {
      const row = byId.get(id);
      if (row !== undefined) return { ...row, outcome: "ours" };
      return { id, outcome: there.has(id) ? "locked" : "lost", held: null, until: null };
    });
  });
}

/** ids. Their tokens as they are now, with as many digits as a claim's have. Answers `id` and `token`. */
export function tokens(sql: TableSql): Statement {
  const token = timeText(time(sql.of("lockedUntil") ?? "NULL"));
  return sql.statement(`SELECT CAST(i.${sql.id} AS CHAR) AS id, ${token} AS token
FROM ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}`);
}
