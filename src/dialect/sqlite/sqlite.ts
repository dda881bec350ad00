import type { Dialect } from "../dialect.ts";
import {
  endsTransaction,
  isSessionLost,
  isTransactionAborted,
  isTransactionOver,
  isTransient,
  isUnstorableText,
} from "./errors.ts";
import { prepareStatement } from "./prepare.ts";
import { isClaimLost, listText, longestName, quoted } from "./sql.ts";
import {
  keysStatement,
  moveStatement,
  purgeStatement,
  removeStatement,
  rowStatement,
  rowsStatement,
} from "./table-admin.ts";
import { advisoryLockStatements } from "./table-advisory-lock.ts";
import {
  columnsStatement,
  oldestVersion,
  timeoutsStatement,
  versionStatement,
} from "./table-catalogue.ts";
import { fits } from "./table-column-types.ts";
import { tableDdl } from "./table-ddl.ts";
import { tableIndexes } from "./table-indexes.ts";
import { insertStatement } from "./table-insert.ts";
import { leaseStatements } from "./table-lease.ts";
import { statusStatement } from "./table-status.ts";
import { begin, modes } from "./transactions.ts";
import { types } from "./types.ts";

/** Described tables on SQLite 3.35 and later. */
export const sqlite: Dialect = {
  name: "sqlite",
  features: {
    forms: ["lease", "advisoryLock"],
    isolations: [],
    modes,
    listenNotify: false,
    errorsAbortTransactions: false,
    longestName,
    mostParameters: 32_766,
  },
  errors: {
    endsTransaction,
    isSessionLost,
    isTransient,
    isUnstorableText,
    isTransactionAborted,
    isTransactionOver,
    isClaimLost,
  },
  placeholder: () => "?",
  quoted,
  begin,
  safeLevel: "immediate",
  beginShort: begin("immediate"),
  savepoint: (of) => ({
    set: `SAVEPOINT intray_${of}`,
    rollback: `ROLLBACK TO SAVEPOINT intray_${of}`,
  }),
  mark: { set: "SAVEPOINT intray_begin", check: "RELEASE SAVEPOINT intray_begin" },
  list: listText,
  types,
  lease: leaseStatements,
  advisoryLock: advisoryLockStatements,
  insert: insertStatement,
  inspection: {
    columns: columnsStatement,
    timeouts: timeoutsStatement,
    version: versionStatement,
    oldestVersion,
    prepare: prepareStatement,
    indexes: tableIndexes,
  },
  admin: {
    fits,
    status: statusStatement,
    rows: rowsStatement,
    row: rowStatement,
    move: moveStatement,
    remove: removeStatement,
    keys: keysStatement,
    purge: purgeStatement,
  },
  ddl: (table) => tableDdl(table),
};
