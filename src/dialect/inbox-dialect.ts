import type { Step } from "../driver/connection.ts";
import type { DialectErrors } from "./errors.ts";
import type { InboxColumn, InboxSchema } from "./inbox-schema.ts";
import type { InboxStatement } from "./inbox-statement.ts";

/** What an inbox worker needs of a database: its statements, and what its errors mean. */
export interface InboxDialect {
  /** What a connection source calls this database. */
  readonly database: string;
  /** Opens a transaction at READ COMMITTED, whatever the session's default is. */
  readonly begin: Step;
  /** The placeholder of the parameter at this position, counted from 1. */
  placeholder(position: number): string;
  statements(schema: InboxSchema, settings: InboxWorkerSettings): InboxWorkerStatements;
  /**
   * How the worker's statements are looked at before the first claim: texts that have the server compile a statement
   * without running it, and what an error of theirs says of it (undefined: nothing). Left out: nobody looks.
   */
  readonly preparing?: {
    prepare(statement: InboxStatement): readonly string[];
    refusal(error: unknown): unknown;
  };
  /** The channel that the table's trigger notifies; undefined where the database has none. */
  channel?(schema: InboxSchema): string;
  /** What creates the index that bounds a claim past a hot aggregate, to name it. */
  aggregateIndexDdl(schema: InboxSchema): string;
  /** A list of values as one parameter. */
  list(values: readonly (string | number)[]): unknown;
  readonly errors: DialectErrors;
}

export interface InboxWorkerSettings {
  readonly batchSize: number;
  readonly chargeExpired: boolean;
}

/** The statements that a worker runs, built once. Which parameters each takes stands in its `params`. */
export interface InboxWorkerStatements {
  readonly claim: InboxStatement;
  /** How many rows `claim` looks at; when it found that many, more may be behind. */
  readonly claimWindow: number;
  readonly claimPastByAggregate: InboxStatement;
  readonly claimPastInOrder: InboxStatement;
  readonly lookAgain: InboxStatement;
  readonly renewAll: InboxStatement;
  readonly releaseAll: InboxStatement;
  readonly completeOrFail: InboxStatement;
  readonly retry: InboxStatement;
  readonly dead: InboxStatement;
  readonly readBack: InboxStatement;
  /** Answers a row, `unmet`, for what the server would have to be and is not. Left out: nothing is asked. */
  readonly requirements?: InboxStatement;
  readonly columns: InboxStatement;
  readonly indexes: InboxStatement;
  /** Server settings that would end a handler's transaction. */
  readonly timeouts: InboxStatement;
}

/** A row of `claim` and its kin. */
export interface ClaimedRow extends ClaimCounts {
  readonly id: string;
  readonly source: string;
  readonly idempotency_key: string;
  readonly aggregate_id: string | null;
  readonly event_type: string | null;
  readonly correlation_id: string | null;
  readonly payload: string;
  readonly headers: string | null;
  readonly attempt: number;
  readonly expired: boolean;
  /** As text, exactly as it is stored: what `readBack` takes. */
  readonly claimed_at: string;
}

/** A row of `readBack`: where a message stands whose commit was not answered. */
export interface ReadBackRow {
  readonly outcome: "completed" | "ours" | "taken" | "locked" | "gone" | "other";
}

/** The only row where nothing was claimed. */
export interface UnclaimedRow extends ClaimCounts {
  readonly id: null;
}

/** What each row of a claim says of the claim as a whole. */
interface ClaimCounts {
  /** `claim`: how many rows the window held. */
  readonly held?: number;
  /** `claimPast...`: where the next walk starts. */
  readonly cursor?: string;
  /** `claimPast...`: nothing is left behind the cursor. */
  readonly ended?: boolean;
}

/** A row of `columns`. */
export interface CatalogueRow {
  readonly role: InboxColumn;
  readonly name: string;
  readonly present: boolean;
  readonly table_present: boolean;
}
