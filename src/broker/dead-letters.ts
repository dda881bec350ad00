import { TableError } from "../errors.ts";
import { checkNumber, shown } from "../options.ts";
import { type TableDescription, tableLabel } from "../table/description.ts";
import type { QueueDescription } from "../table/queue.ts";
import { type AdminOptions, type Place, placeOf, type RowsOf, TableAdmin } from "./admin.ts";
import { type DeadLetterPlan, deadLetterPlan, reasonColumn } from "./dead-letter.ts";
import type { Writable } from "./executor.ts";
import { hexText } from "./hex-text.ts";

/** A row as {@link DeadLetters.list} answers it: text that has lost no digit. */
export interface DeadLetterRow {
  readonly id: string;
  readonly group: string | null;
  /** Null on a table that counts none. */
  readonly attempt: number | null;
  /** ISO 8601 in UTC; null: due. */
  readonly due: string | null;
  /** The end of a lease: while it lasts, somebody works the row. */
  readonly leasedUntil: string | null;
  /** Null where the table has no column for it. */
  readonly reason: string | null;
  /** The first 400 characters or bytes; bytes that are no text begin with `\x`. */
  readonly payload: string | null;
  /** Of the whole payload, in characters or bytes. */
  readonly payloadLength: number | null;
}

/** A row, whole: its columns by their properties, as the database writes them. */
export interface WholeDeadLetterRow {
  readonly id: string;
  readonly columns: { readonly [property: string]: string | null };
}

/** Which rows are meant: nothing is changed for want of a word. */
export type DeadLetterSelection =
  | { readonly ids: readonly (string | number | bigint)[] }
  | { readonly all: true };

/** Where rows go. */
export interface RetryDestination {
  readonly to: RowsOf;
  /** Properties that may be lost, as the table there has no column for them. */
  readonly leaveBehind?: readonly string[];
}

/** What a retry has done. */
export interface RetriedDeadLetters {
  /** The rows that were moved, by the ids that they had here. */
  readonly ids: readonly string[];
  /** Properties for which the destination has no column: they are gone. */
  readonly leftBehind: readonly string[];
}

/** Rows that were given up, or any others that wait: to look at, run again, or throw away. */
export interface DeadLetters {
  /** In the order of their ids, the highest first. `limit` defaults to 50, up to 10,000. */
  list(options?: {
    readonly limit?: number;
    /** Goes on behind this row, the last one of the page before. */
    readonly after?: string | number | bigint;
  }): Promise<readonly DeadLetterRow[]>;
  /** One row; undefined: there is none of that id. */
  show(id: string | number | bigint): Promise<WholeDeadLetterRow | undefined>;
  /**
   * Moves rows to another queue, where they are claimed with the next poll: the attempt, the due time
   * and the lease start anew; a reason in the row stays within its table. Rows in work are left alone.
   *
   * @throws TableError where the other table's columns do not fit, or a column would be lost.
   */
  retry(rows: DeadLetterSelection & RetryDestination): Promise<RetriedDeadLetters>;
  /** Deletes rows for good; answers their ids. Rows in work are left alone. */
  purge(rows: DeadLetterSelection): Promise<readonly string[]>;
}

/**
 * The dead letters of a queue, or of a whole table of them.
 *
 * @param conn a connection source, a pool, a client or an open transaction.
 * @throws TypeError for what is no queue, or a connection whose database nobody knows.
 * @example
 * const dead = deadLetters(pool, failed);
 * for (const { id, reason } of await dead.list()) console.log(id, reason);
 * await dead.retry({ ids: ["42"], to: emails });
 */
export function deadLetters(conn: Writable, of: RowsOf, options: AdminOptions = {}): DeadLetters {
  const place = placeOf(of);
  return new RowsInPlace(new TableAdmin(conn, place.table, options), place);
}

/** Rows a statement moves or deletes: more would hold their locks for long. */
const CHUNK = 500;

interface ListedRow {
  readonly id: string;
  readonly group: string | null;
  readonly attempt: string | null;
  readonly due: string | null;
  readonly leased_until: string | null;
  readonly reason: string | null;
  readonly payload: string | null;
  readonly payload_length: string | null;
}

class RowsInPlace implements DeadLetters {
  readonly #admin: TableAdmin;
  readonly #place: Place;
  readonly #from: string | null;

  constructor(admin: TableAdmin, place: Place) {
    this.#admin = admin;
    this.#place = place;
    this.#from = place.group ?? null;
  }

  async list({
    limit = 50,
    after,
  }: {
    readonly limit?: number;
    readonly after?: string | number | bigint;
  } = {}): Promise<readonly DeadLetterRow[]> {
    const most = checkNumber("limit", limit, { min: 1, max: 10_000 });
    const isBytes = this.#place.table.roles.payload?.type === "bytes";
    const rows = await this.#rows("descending", after === undefined ? null : String(after), most);
    return rows.map((row) => ({
      id: row.id,
      group: row.group,
      attempt: row.attempt === null ? null : Number(row.attempt),
      due: row.due,
      leasedUntil: row.leased_until,
      reason: row.reason,
      payload: row.payload === null || !isBytes ? row.payload : hexText(row.payload, true),
      payloadLength: row.payload_length === null ? null : Number(row.payload_length),
    }));
  }

  async show(id: string | number | bigint): Promise<WholeDeadLetterRow | undefined> {
    const { table } = this.#place;
    const [row] = await this.#admin.ask<Record<string, unknown>>(
      this.#admin.statements.row(table),
      { from: this.#from, id: String(id) },
    );
    if (row === undefined) return undefined;
    const columns = table.columns.map(({ property, type }, index) => {
      const value = row[`v${index}`];
      const text = typeof value === "string" ? value : null;
      return [property, text === null || type !== "bytes" ? text : hexText(text)] as const;
    });
    return { id: String(id), columns: Object.fromEntries(columns) };
  }

  async retry({
    leaveBehind = [],
    to,
    ...selection
  }: DeadLetterSelection & RetryDestination): Promise<RetriedDeadLetters> {
    const { leftBehind, plan } = way(this.#place, placeOf(to), leaveBehind);
    const statement = this.#admin.statements.move(this.#place.table, plan.settings);
    const values = { from: this.#from, group: plan.group };
    if (plan.settings.table !== undefined) await this.#admin.look(plan.settings.table);
    const ids = await this.#each(selection, (chunk) =>
      this.#admin.change(statement, chunk, values),
    );
    return { ids, leftBehind };
  }

  async purge(selection: DeadLetterSelection): Promise<readonly string[]> {
    const statement = this.#admin.statements.remove(this.#place.table);
    return await this.#each(selection, (chunk) =>
      this.#admin.change(statement, chunk, { from: this.#from }),
    );
  }

  async #rows(
    order: "ascending" | "descending",
    after: string | null,
    limit: number,
  ): Promise<ListedRow[]> {
    const { table } = this.#place;
    const reason = reasonColumn(table);
    const settings = { order, ...(reason !== undefined && { reason }) };
    const statement = this.#admin.statements.rows(table, settings);
    return await this.#admin.ask<ListedRow>(statement, { from: this.#from, after, limit });
  }

  /** In chunks upward from the lowest id: a row that comes back meanwhile is not met again. */
  async #each(
    selection: DeadLetterSelection,
    change: (ids: readonly string[]) => Promise<readonly string[]>,
  ): Promise<string[]> {
    const changed: string[] = [];
    for await (const ids of this.#chunks(selection)) {
      changed.push(...(await change(ids)));
    }
    return changed;
  }

  async *#chunks(selection: DeadLetterSelection): AsyncGenerator<readonly string[]> {
    if ("ids" in selection) {
      const ids = [...new Set(selection.ids.map(String))];
      for (let at = 0; at < ids.length; at += CHUNK) yield ids.slice(at, at + CHUNK);
      return;
    }
    if (selection.all !== true) {
      throw new TypeError(`this takes { ids } or { all: true }, not ${shown(selection)}`);
    }
    for (let after: string | null = null; ; ) {
      const rows: ListedRow[] = await this.#rows("ascending", after, CHUNK);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows.map(({ id }) => id);
      if (rows.length < CHUNK) return;
      after = last.id;
    }
  }
}

interface Way {
  readonly plan: DeadLetterPlan;
  readonly leftBehind: readonly string[];
}

/** @throws TableError where rows would stay where they are, or do not fit. */
function way(from: Place, to: Place, leaveBehind: readonly string[]): Way {
  const label = tableLabel(to.table);
  if (tableLabel(from.table) === label) {
    if (to.group === undefined || from.group === undefined || to.group === from.group) {
      throw new TypeError(
        `retry within ${label} takes rows of one group to another: name both queues`,
      );
    }
    return { plan: { settings: {}, group: to.group }, leftBehind: [] };
  }
  if (to.table.roles.group !== undefined && to.group === undefined) {
    throw new TypeError(`retry: ${label} has groups: name the queue that the rows go to`);
  }
  const lost = leftBehindColumns(from.table, to.table, leaveBehind);
  const queue: QueueDescription = {
    name: tableLabel(from.table),
    table: from.table,
    groups: "none",
  };
  const destination: QueueDescription = {
    name: label,
    table: to.table,
    ...(to.group === undefined ? { groups: "none" } : { groups: "one", group: to.group }),
  };
  const plan = deadLetterPlan(
    queue,
    destination,
    Object.fromEntries(lost.map((property) => [property, null])),
  );
  const { copied = [], table } = plan.settings;
  // The row lives again: a reason that it had is not written anew.
  return {
    plan: { group: plan.group, settings: { copied, ...(table !== undefined && { table }) } },
    leftBehind: lost,
  };
}

/**
 * Columns for which the destination has no place. What the table wrote of the death itself (a reason, what
 * the database fills) may go; anything else is lost only where that was said.
 *
 * @throws TableError that names all others.
 */
function leftBehindColumns(
  from: TableDescription,
  to: TableDescription,
  allowed: readonly string[],
): readonly string[] {
  const reason = reasonColumn(from);
  const lost = from.columns.filter(
    ({ property, role }) =>
      role === undefined && !to.columns.some((column) => column.property === property),
  );
  const refused = lost.filter(
    (column) =>
      column !== reason && column.generated === "never" && !allowed.includes(column.property),
  );
  if (refused.length > 0) {
    const names = refused.map(({ property }) => property).join(", ");
    throw new TableError(
      `retry: ${tableLabel(to)} has no column for ${names} of ${tableLabel(from)}: what may be lost is named with leaveBehind (--leave-behind)`,
    );
  }
  return lost.map(({ property }) => property);
}
