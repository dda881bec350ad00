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
import { isClaimLost, longestName, quoted } from "./sql.ts";
import {
  moveStatement,
  purgeStatement,
  removeStatement,
  rowStatement,
  rowsStatement,
} from "./table-admin.ts";
import { advisoryLockStatements } from "./table-advisory-lock.ts";
import {
  columnsStatement,
  isolationStatement,
  oldestVersion,
  sessionStatement,
  timeoutsStatement,
  versionStatement,
} from "./table-catalogue.ts";
import { fits } from "./table-column-types.ts";
import { tableDdl } from "./table-ddl.ts";
import { tableIndexes } from "./table-indexes.ts";
import { insertStatement } from "./table-insert.ts";
import { leaseStatements } from "./table-lease.ts";
import { rowLockStatements } from "./table-row-lock.ts";
import { statusStatement } from "./table-status.ts";
import { begin, isolations } from "./transactions.ts";
import { types } from "./types.ts";

/** Described tables on MySQL 8.0.4 and MariaDB 10.6, and later. */
export const mysql: Dialect = {
  name: "mysql",
  features: {
    forms: ["rowLock", "lease", "advisoryLock"],
    isolations,
    modes: [],
    listenNotify: false,
    // Where even a plain SELECT locks what it reads, claims wait for each other.
    conflictingIsolations: ["serializable"],
    errorsAbortTransactions: false,
    sessionsMayLose: true,
    longestName,
    mostParameters: 65_535,
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
  safeLevel: "readCommitted",
  beginShort: begin("readCommitted"),
  savepoint: (of) => ({
    set: `SAVEPOINT intray_${of}`,
    rollback: `ROLLBACK TO SAVEPOINT intray_${of}`,
  }),
  mark: { set: "SAVEPOINT intray_begin", check: "RELEASE SAVEPOINT intray_begin" },
  list: (values) => values,
  types,
  rowLock: rowLockStatements,
  lease: leaseStatements,
  advisoryLock: advisoryLockStatements,
  insert: insertStatement,
  inspection: {
    columns: columnsStatement,
    timeouts: timeoutsStatement,
    isolation: isolationStatement,
    session: sessionStatement,
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
    purge: purgeStatement,
  },
  ddl: (table) => tableDdl(table),
};
