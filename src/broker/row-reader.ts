import type { ClaimedRow, Dialect } from "../dialect/dialect.ts";
import { DecodeError } from "../errors.ts";
import type { ColumnDescription, TableDescription } from "../table/description.ts";
import type { QueueDescription } from "../table/queue.ts";
import { decodeColumn } from "./column-values.ts";
import { decodeFetched, fetchedPayload } from "./fetched-values.ts";
import { columnHeaders, type Headers, readHeaders } from "./headers.ts";
import { type PayloadFormat, payloadFormat } from "./payload.ts";

/**
 * Reads claimed rows of one queue: which columns a claim must carry, and what a handler gets of them. In
 * payload mode that is the payload, in row mode (a table without a payload column) the whole row.
 */
export class RowReader {
  /** What each claim must carry, as `c0`, `c1`... */
  readonly columns: readonly ColumnDescription[];
  /** What an event of the service's own reads, behind them. */
  readonly fetched: readonly ColumnDescription[];
  readonly mode: "payload" | "row";
  readonly #table: TableDescription;
  readonly #dialect: Dialect;
  readonly #payload:
    | { readonly column: ColumnDescription; readonly format: PayloadFormat }
    | undefined;
  /** Of row mode: the message's own columns. */
  readonly #row: readonly ColumnDescription[];
  /** Of a headers layout: the columns that are headers. */
  readonly #headerColumns: readonly ColumnDescription[];
  readonly #places: ReadonlyMap<ColumnDescription, number>;

  constructor(queue: Pick<QueueDescription, "table" | "payload">, dialect: Dialect) {
    const { table } = queue;
    const message = table.message ?? table;
    const { payload } = message.roles;
    this.#table = table;
    this.#dialect = dialect;
    this.mode = payload === undefined ? "row" : "payload";
    this.#payload =
      payload === undefined
        ? undefined
        : { column: payload, format: payloadFormat(dialect, payload, queue.payload) };
    this.#row = payload === undefined ? message.columns : [];
    this.#headerColumns =
      table.message === undefined ? [] : table.columns.filter(({ role }) => role === undefined);
    const { headers } = table.roles;
    const ofMessage = payload === undefined ? this.#row : [payload];
    const ofHeaders = [...(headers === undefined ? [] : [headers]), ...this.#headerColumns];
    const isFetched = table.custom?.fetch !== undefined;
    this.fetched = isFetched ? ofMessage.filter((column) => !ofHeaders.includes(column)) : [];
    this.columns = isFetched ? ofHeaders : [...new Set([...ofMessage, ...ofHeaders])];
    const all = [...this.columns, ...this.fetched];
    this.#places = new Map(all.map((column, place) => [column, place]));
  }

  /** The id as its column's type has it. */
  id(row: ClaimedRow): unknown {
    const { id } = this.#table.roles;
    return id === undefined ? row.id : decodeColumn(this.#dialect, id, row.id);
  }

  /** 1 on the first delivery; undefined on a table that counts none. */
  attempt(row: ClaimedRow): number | undefined {
    if (row.attempt === null || row.attempt === undefined) return undefined;
    const { attemptFrom, form } = this.#table;
    // A lease and an advisory lock count the attempt when they claim, a row lock when it settles.
    return Number(row.attempt) - attemptFrom + (form === "rowLock" ? 1 : 0);
  }

  /** What the handler takes. @throws DecodeError */
  message(row: ClaimedRow): unknown {
    if (this.#payload !== undefined) {
      const { column, format } = this.#payload;
      const raw = this.#raw(row, column);
      return format.decode(this.fetched.includes(column) ? fetchedPayload(column, raw) : raw);
    }
    const message: Record<string, unknown> = {};
    for (const column of this.#row) {
      const raw = this.#raw(row, column);
      message[column.property] = this.fetched.includes(column)
        ? decodeFetched(column, raw)
        : decodeColumn(this.#dialect, column, raw);
    }
    return message;
  }

  /** Of a JSON column. @throws DecodeError */
  headers(row: ClaimedRow): Headers | (() => Headers) {
    if (this.#headerColumns.length > 0) {
      const raws = this.#headerColumns.map((column) => this.#raw(row, column));
      return () => columnHeaders(this.#dialect, this.#headerColumns, raws);
    }
    const { headers } = this.#table.roles;
    return headers === undefined ? {} : readHeaders(this.#raw(row, headers));
  }

  #raw(row: ClaimedRow, column: ColumnDescription): unknown {
    const place = this.#places.get(column);
    const raw = place === undefined ? undefined : row[`c${place}`];
    if (raw === undefined) {
      throw new DecodeError(
        this.fetched.includes(column)
          ? `the event "fetch" gave no row, or none with a column ${column.name}`
          : `the claim brought no ${column.name}`,
      );
    }
    return raw;
  }
}
