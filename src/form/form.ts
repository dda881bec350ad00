import type { Work } from "../engine/work.ts";
import { TableError } from "../errors.ts";
import { tableLabel } from "../table/description.ts";
import { AdvisoryLockForm } from "./advisory-lock.ts";
import type { FormSettings } from "./form-settings.ts";
import { LeaseForm } from "./lease.ts";
import { RowLockForm } from "./row-lock.ts";
import type { TableDelivery } from "./table-delivery.ts";

/**
 * The form that holds a table's rows.
 *
 * @throws TableError where the dialect does not build it.
 */
export function formOf(settings: FormSettings): Work<TableDelivery> {
  const { claim, dialect, leaseMs, leasePrecision, table } = settings;
  switch (table.form) {
    case "rowLock": {
      const statements = dialect.rowLock?.(table, claim);
      if (statements !== undefined) return new RowLockForm(settings, statements);
      break;
    }
    case "lease": {
      const precision = leasePrecision === undefined ? {} : { leasePrecision };
      const statements = dialect.lease?.(table, { ...claim, leaseMs, ...precision });
      if (statements !== undefined) return new LeaseForm(settings, statements);
      break;
    }
    case "advisoryLock": {
      const statements = dialect.advisoryLock?.(table, claim);
      if (statements !== undefined) return new AdvisoryLockForm(settings, statements);
      break;
    }
  }
  const built = dialect.features.forms.map((form) => `"${form}"`).join(", ");
  throw new TableError(
    `${tableLabel(table)}: the form "${table.form}" is not built by the dialect ${dialect.name}, which builds ${built || "none"}`,
  );
}
