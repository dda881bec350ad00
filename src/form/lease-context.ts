import type { LeaseStatements } from "../dialect/dialect.ts";
import type { FormReport } from "./form-report.ts";
import type { FormSettings } from "./form-settings.ts";
import type { TableEvents } from "./table-events.ts";

/** What every part of one subscription's lease form works with. */
export interface LeaseContext {
  readonly settings: FormSettings;
  readonly statements: LeaseStatements;
  readonly events: TableEvents;
  readonly report: FormReport;
  /** Aborts when the subscription has ended: nothing is tried again after it. */
  readonly ended: AbortSignal;
}
