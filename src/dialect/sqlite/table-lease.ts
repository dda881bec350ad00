/**
 * Leases: the claim writes until when the row is ours, and commits. What proves it later is the lease's
 * end and the attempt together: after a retry, a second claim may write the same end.
 *
 * A claim is one UPDATE. SQLite has one writer at a time, so two claims never overlap, and a fifo group
 * needs no second look: each claim sees what the one before it has committed.
 */
import type { TableDescription } from "../../table/description.ts";
import type { LeaseSettings, LeaseStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { failUnless } from "./sql.ts";
import { claimedColumns, inOrder, ofGroup } from "./table-claim.ts";
import { extendable, takeLeases, tokens } from "./table-custom.ts";
import { fifoClaim } from "./table-fifo.ts";
import {
  assigned,
  type Change,
  counted,
  given,
  ours,
  uncounted,
  unleased,
  update,
} from "./table-held.ts";
import { all, TableSql } from "./table-names.ts";
import { dueRows } from "./table-order.ts";
import { ack, settlements } from "./table-settle.ts";
import { walkStatements } from "./table-walk.ts";

/** @throws TypeError for a table without a lease column. */
export function leaseStatements(table: TableDescription, settings: LeaseSettings): LeaseStatements {
  const build = () => new TableSql(table);
  const { retry, ...settled } = settlements(build, settings);
  if (retry === undefined) throw new TypeError(`${table.name} has no lease column`);
  return {
    ...settled,
    retry,
    claim: table.fifo === "none" ? claim(build(), settings) : fifoClaim(build, settings, leased),
    ...walkStatements(build(), settings),
    extend: extend(build()),
    release: release(build()),
    ackOrFail: ackOrFail(build()),
    lockOrFail: lockOrFail(build()),
    readBack: readBack(build()),
    ...(table.custom?.claim !== undefined && { take: takeLeases(build, settings, leased) }),
    ...(table.custom?.extend !== undefined && {
      extendable: extendable(build(), leaseEnd),
      tokens: tokens(build()),
    }),
  };
}

function claim(sql: TableSql, settings: LeaseSettings): Statement {
  const conditions = [...ofGroup(sql, settings), ...sql.open(), ...sql.free()];
  const rows = dueRows(sql, { conditions }, sql.param("limit"));
  const statement = sql.statement(`UPDATE ${sql.name} AS i
SET ${assigned(leased(sql))}
WHERE i.${sql.id} IN (
  SELECT candidate.id FROM (
    ${rows}
  ) AS candidate
)
RETURNING ${claimedColumns(sql, settings)}`);
  return inOrder(sql, statement);
}

/** The row is held until the lease's new end, and its attempt counts. */
function leased(sql: TableSql): Change[] {
  return [{ column: sql.column("lockedUntil") ?? "", value: leaseEnd(sql) }, ...counted(sql)];
}

/**
 * The clock has milliseconds. Without an attempt the lease's end alone tells two claims of a row apart,
 * which may come within one: so it gets some microseconds at random.
 */
function leaseEnd(sql: TableSql): string {
  const end = sql.later(sql.param("leaseMs"));
  if (sql.table.roles.attempt !== undefined) return end;
  return `substr(${end}, 1, 23) || printf('%03dZ', abs(random() % 1000))`;
}

/** Rows of whose settlement nobody knows yet are not asked for, and nobody else is writing: none is locked. */
function extend(sql: TableSql): Statement {
  const lease = sql.column("lockedUntil") ?? "";
  const changes = [{ column: lease, value: leaseEnd(sql) }];
  return sql.statement(
    update(sql, changes, { isLive: true }, `, 'extended' AS outcome, ${lease} AS token`),
  );
}

function release(sql: TableSql): Statement {
  return sql.statement(update(sql, [...unleased(sql), ...uncounted(sql)]));
}

/** Fails its transaction unless the statement before it changed all the given rows. */
function unlessAll(sql: TableSql, what: string): Statement {
  const count = `json_array_length(${sql.param("ids")})`;
  return sql.statement(`SELECT ${failUnless(`changes() = ${count}`, what)} AS done`);
}

function ackOrFail(sql: TableSql): Statement {
  return { ...sql.statement(ack(sql)), after: [unlessAll(sql, "rows acknowledged")] };
}

/** Writes what is there already: the transaction has the file to itself from here on. */
function lockOrFail(sql: TableSql): Statement {
  const lease = sql.column("lockedUntil") ?? "";
  const kept = [{ column: lease, value: `i.${lease}` }];
  return {
    ...sql.statement(update(sql, kept, { isLive: true })),
    after: [unlessAll(sql, "rows locked")],
  };
}

/**
 * Where rows stand whose commit was not answered: `ours`: in work under our claim, so nothing was
 * committed; `taken`: in work under another claim; `settled`: processed under our attempt, so by us; `gone`:
 * there is no such row; `other`. A transaction that has not ended shows nothing of what it wrote.
 */
function readBack(sql: TableSql): Statement {
  const lease = sql.of("lockedUntil");
  const done = sql.of("processedAt");
  const attempt = sql.of("attempt");
  const settled =
    done === undefined || attempt === undefined
      ? "false"
      : `${done} IS NOT NULL AND ${attempt} = given.attempt`;
  return sql.statement(`WITH ${given(sql)}
SELECT CAST(given.id AS TEXT) AS id,
  CASE
    WHEN i.${sql.id} IS NULL THEN 'gone'
    WHEN ${ours(sql)} THEN 'ours'
    WHEN ${all(sql.open(), `${lease} IS NOT NULL`)} THEN 'taken'
    WHEN ${settled} THEN 'settled'
    ELSE 'other'
  END AS outcome
FROM given LEFT JOIN ${sql.name} AS i ON i.${sql.id} = given.id`);
}
