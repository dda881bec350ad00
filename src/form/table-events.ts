import { bind } from "../dialect/bind.ts";
import type { ClaimedRow } from "../dialect/dialect.ts";
import type { Statement } from "../dialect/statement.ts";
import type { QueryResult } from "../driver/connection.ts";
import type { Action } from "./actions.ts";
import { type ClaimStatements, claimAction } from "./custom-claim.ts";
import { customEvent, customSettlements } from "./custom-events.ts";
import type { FormSettings } from "./form-settings.ts";
import type { Verdict } from "./reaction.ts";
import { storableTexts } from "./trying-again.ts";

/** A row, and what fences it where its form has leases. */
export interface EventRow {
  readonly id: string;
  readonly token: string | null;
  readonly attempt: string | null;
}

/** A row and what is to become of it. */
export interface Settlement<R extends EventRow = EventRow> {
  readonly row: R;
  readonly verdict: Verdict;
}

/** Each row with its verdict, which stand in one order. */
export function settlementsOf<R extends EventRow>(
  rows: readonly R[],
  verdicts: readonly Verdict[],
): Settlement<R>[] {
  return rows.flatMap((row, index) => {
    const verdict = verdicts[index];
    return verdict === undefined ? [] : [{ row, verdict }];
  });
}

/** The statements that a form settles with; a verdict without one of its own is a retry. */
interface Statements extends ClaimStatements {
  readonly ack: Statement;
  readonly retry?: Statement;
  readonly retryAfter?: Statement;
  readonly deadLetter?: Statement;
}

/** The names of events as errors and custom functions have them. */
export type SettlementEvent = "ack" | "retry" | "discard" | "retryAfter" | "deadLetter";

/** Settlements that are one event, so that one statement can make all of them true. */
export interface SettlementGroup<R extends EventRow = EventRow> {
  readonly event: SettlementEvent;
  readonly settlements: readonly Settlement<R>[];
}

/**
 * What a table's events are on a connection: the dialect's statements with their values in place. This
 * is the one spot that knows which.
 */
export class TableEvents {
  readonly #settings: FormSettings;
  readonly #statements: Statements;

  constructor(settings: FormSettings, statements: Statements) {
    this.#settings = settings;
    this.#statements = statements;
  }

  /** Claims, of every group from behind that one; what it answers, {@link claimedRows} reads. */
  claim(limit: number, after: string | null = null): Action {
    const bound: TableEvents["bound"] = (statement, values) => this.bound(statement, values);
    return claimAction(this.#settings, this.#statements, bound, { after, limit });
  }

  claimedRows(result: QueryResult<ClaimedRow> | undefined): readonly ClaimedRow[] {
    return result?.rows ?? [];
  }

  /** Whether the service has written the event itself: then it settles row by row, on one connection. */
  isCustom(event: SettlementEvent): boolean {
    return customEvent(this.#settings, event) !== undefined;
  }

  /** The settlements by their events, in the order in which locks are taken everywhere. */
  grouped<R extends EventRow>(settlements: readonly Settlement<R>[]): SettlementGroup<R>[] {
    const groups = new Map<SettlementEvent, Settlement<R>[]>();
    for (const settlement of settlements) {
      const event = this.eventOf(settlement.verdict);
      const group = groups.get(event);
      if (group === undefined) groups.set(event, [settlement]);
      else group.push(settlement);
    }
    return [...groups].map(([event, members]) => ({ event, settlements: members }));
  }

  eventOf({ kind }: Verdict): SettlementEvent {
    if (kind === "ack") return "ack";
    if (kind === "drop") return "discard";
    const isThere = this.#statements[kind] !== undefined || this.isCustom(kind);
    return isThere ? kind : "retry";
  }

  /** Makes a group's verdicts true; nothing where that takes no statement. Each answers `id` a row. */
  settle(group: SettlementGroup, textChoice: 0 | 1 | 2 = 0): Action[] {
    const { dialect, deadLetterGroup } = this.#settings;
    const { event, settlements } = group;
    const custom = customEvent(this.#settings, event);
    if (custom !== undefined) return customSettlements(this.#settings, custom, group);
    const statement = this.#statements[event === "discard" ? "ack" : event];
    if (statement === undefined) return [];
    const rows = settlements.map(({ row }) => row);
    const verdicts = settlements.map(({ verdict }) => verdict);
    const values = {
      ...this.fence(rows),
      delaysMs: dialect.list(verdicts.map(delayOf)),
      reasons: dialect.list(verdicts.map((verdict) => reasonOf(verdict, textChoice))),
      group: deadLetterGroup ?? null,
    };
    return [this.bound(statement, values)];
  }

  /** The parameters by which rows are found, and are ours. */
  fence(rows: readonly EventRow[]): {
    readonly ids: unknown;
    readonly tokens: unknown;
    readonly attempts: unknown;
  } {
    const { dialect } = this.#settings;
    return {
      ids: dialect.list(rows.map(({ id }) => id)),
      tokens: dialect.list(rows.map(({ token }) => token)),
      attempts: dialect.list(rows.map(({ attempt }) => attempt)),
    };
  }

  /** A statement with its values, and with the time where the table's clock is not the database's. */
  bound(statement: Statement, values: Readonly<Record<string, unknown>>): ReturnType<typeof bind> {
    if (!statement.params.includes("now")) return bind(statement, values);
    return bind(statement, { ...values, now: this.#now() });
  }

  #now(): string {
    const { clock } = this.#settings.table;
    return (typeof clock === "function" ? clock() : new Date()).toISOString();
  }
}

function delayOf(verdict: Verdict): number {
  return verdict.kind === "retryAfter" ? verdict.delayMs : 0;
}

function reasonOf(verdict: Verdict, choice: 0 | 1 | 2): string | null {
  return verdict.reason === undefined ? null : storableTexts(verdict.reason)[choice];
}
