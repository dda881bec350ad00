import type { Clock } from "../clock.ts";
import type { ClaimSettings, Dialect } from "../dialect/dialect.ts";
import type { ConnectionSource } from "../driver/connection.ts";
import type { Log } from "../log.ts";
import type { ColumnDescription, IsolationLevel, TableDescription } from "../table/description.ts";
import type { FormObserver, Reaction } from "./reaction.ts";

/** What a form is given, checked already: a subscription builds it once. */
export interface FormSettings {
  readonly source: ConnectionSource;
  readonly dialect: Dialect;
  readonly table: TableDescription;
  readonly claim: ClaimSettings;
  /** What the event `fetch` gives of each row, where the service has one: behind the claim's own columns. */
  readonly fetched?: readonly ColumnDescription[];
  /** The group that is read, as a parameter; of `claim.groups: "one"`. */
  readonly queueGroup?: string | undefined;
  /** Rows that one handler call takes at most; 1 without batches. */
  readonly batch: number;
  readonly transactional: boolean;
  /** How long a lease lasts. In every form: how long an answer of the database is waited for. */
  readonly leaseMs: number;
  /** Lease form: there is a connection for renewals while handlers run. */
  readonly canRenew: boolean;
  /** The group that dead letters get where they arrive; null where the destination has none. */
  readonly deadLetterGroup?: string | null;
  readonly reaction: Reaction;
  readonly observer: FormObserver;
  /** Handlers' statements come again and again, and are worth preparing. */
  readonly prepare: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Fields that every log line carries. */
  readonly fields: Record<string, unknown>;
  /** How many digits of a second the lease column holds; by default all that the dialect writes. */
  readonly leasePrecision?: number;
  /** The level that the table's transactions open at, where that is known. */
  readonly isolation?: IsolationLevel;
}
