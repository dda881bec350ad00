/** What a leased row goes through while it is ours: extended, given back, asked for, looked at again. */
import { bind } from "../bind.ts";
import type { LeaseSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { givenCount } from "./given.ts";
import { time, timeText } from "./sql.ts";
import { assigned, given, givenId, isGiven, ours, uncounted, unleased } from "./table-given.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { all, type TableSql } from "./table-names.ts";
import { type Build, givenAgain, lockOurs, programOf } from "./table-program.ts";

/** Waits for no lock: a row that its own settlement has locked is `locked`, and neither lost nor extended. */
export function extend(build: Build, settings: LeaseSettings): Statement {
  const [locking, seeing, writing] = [build(), build(), build()];
  const locked = locking.statement(`SELECT CAST(i.${locking.id} AS CHAR) AS id,
  ${timeText(leaseEnd(locking, settings))} AS token
FROM ${given(locking)} STRAIGHT_JOIN ${locking.byId} ON ${ours(locking, true)}
FOR UPDATE SKIP LOCKED`);
  const seen = seeing.statement(`SELECT CAST(i.${seeing.id} AS CHAR) AS id
FROM ${given(seeing)} STRAIGHT_JOIN ${seeing.byId} ON ${ours(seeing, true)}`);
  const lease = writing.column("lockedUntil") ?? "";
  const extended =
    writing.statement(`UPDATE ${given(writing)} STRAIGHT_JOIN ${writing.byId} ON ${isGiven(writing)}
SET ${assigned([{ column: lease, value: time("g.token") }])}`);
  return programOf([locked, seen, extended], function* (values) {
    const { rows } = yield bind(locked, values);
    const tokens = new Map(rows.map(({ id, token }) => [id, token]));
    const others = rows.length < givenCount(values) ? (yield bind(seen, values)).rows : [];
    const there = new Set(others.map(({ id }) => id));
    if (rows.length > 0) {
      yield bind(extended, { ...values, ids: [...tokens.keys()], tokens: [...tokens.values()] });
    }
    const ids: readonly unknown[] = Array.isArray(values["ids"]) ? values["ids"] : [];
    return ids.map((id) => {
      const token = tokens.get(id) ?? null;
      if (token !== null) return { id, outcome: "extended", token };
      return { id, outcome: there.has(id) ? "locked" : "lost", token };
    });
  });
}

/** A locked row is skipped: its own transaction decides what becomes of it. */
export function release(build: Build): Statement {
  const sql = build();
  const locked = lockOurs(build(), false, " SKIP LOCKED");
  const changed = sql.statement(`UPDATE ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
SET ${assigned([...unleased(sql), ...uncounted(sql)])}`);
  return programOf([locked, changed], function* (values) {
    const { rows } = yield bind(locked, values);
    if (rows.length > 0) yield bind(changed, givenAgain(values, rows));
    return rows;
  });
}

/**
 * Where rows stand whose commit was not answered: `ours`: in work under our claim, so nothing was
 * committed; `locked`: a transaction that has not ended holds the row; `taken`: in work under another
 * claim; `settled`: processed under our attempt, so by us; `gone`: there is no such row; `other`.
 */
export function readBack(build: Build): Statement {
  const [all_, free] = [build(), build()];
  const seen = all_.statement(`SELECT CAST(i.${all_.id} AS CHAR) AS id
FROM ${given(all_)} STRAIGHT_JOIN ${all_.byId} ON ${isGiven(all_)}`);
  const attempt = free.of("attempt");
  const done = free.of("processedAt");
  const settled =
    done === undefined || attempt === undefined
      ? "FALSE"
      : `${done} IS NOT NULL AND ${attempt} = g.attempt`;
  // A shared lock conflicts with that of a settlement, and lives as long as this transaction.
  const unlocked = free.statement(`SELECT CAST(i.${free.id} AS CHAR) AS id,
  CASE
    WHEN ${ours(free)} THEN 'ours'
    WHEN ${all(free.open(), `${free.of("lockedUntil")} IS NOT NULL`)} THEN 'taken'
    WHEN ${settled} THEN 'settled'
    ELSE 'other'
  END AS outcome
FROM ${given(free)} STRAIGHT_JOIN ${free.byId} ON ${isGiven(free)}
FOR UPDATE SKIP LOCKED`);
  return programOf([seen, unlocked], function* (values) {
    const there = new Set((yield bind(seen, values)).rows.map(({ id }) => id));
    const outcomes = new Map(
      (yield bind(unlocked, values)).rows.map((row) => [row["id"], row["outcome"]]),
    );
    const ids: readonly unknown[] = Array.isArray(values["ids"]) ? values["ids"] : [];
    return ids.map((id) => ({
      id,
      outcome: outcomes.get(id) ?? (there.has(id) ? "locked" : "gone"),
    }));
  });
}

/** Rows whose group has another row in work. Runs after the claim's commit, and reads what is committed. */
export function lookAgain(sql: TableSql): Statement {
  const isBefore = `o.${sql.id} < i.${sql.id}`;
  const isOther = all(
    `${sql.of("group", "o")} = ${sql.of("group")}`,
    `${sql.of("lockedUntil", "o")} > ${sql.now}`,
    sql.open("o"),
    `o.${sql.id} <> i.${sql.id}`,
    `(${isBefore} OR NOT EXISTS (
    SELECT 1 FROM ${given(sql)} WHERE o.${sql.id} = ${givenId(sql)}
  ))`,
  );
  return sql.statement(`SELECT CAST(i.${sql.id} AS CHAR) AS id
FROM ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${ours(sql)}
WHERE EXISTS (
  SELECT 1
  FROM ${sql.name} AS o
  WHERE ${isOther}
)`);
}
