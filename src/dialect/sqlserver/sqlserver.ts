import type { Dialect } from "../dialect.ts";
import {
  endsTransaction,
  isClaimLost,
  isSessionLost,
  isTransactionAborted,
  isTransactionOver,
  isTransient,
  isUnstorableText,
} from "./errors.ts";
import { prepareStatement, refusalIn } from "./prepare.ts";
import { longestName, placeholder, quoted } from "./sql.ts";
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
import { begin, beginShort, isolations } from "./transactions.ts";
import { types } from "./types.ts";

/**
 * Described tables on SQL Server 2016 and later, and on Azure SQL.
 *
 * Statements are batches: the answer is the last of their results that has columns.
 *
 * An error undoes its own statement or, some errors, the whole transaction (`endsTransaction`); none leaves one
 * that only fails. DDL commits nothing, so there is no `mark`: a COMMIT without its transaction is an error.
 */
export const sqlserver: Dialect = {
  name: "sqlserver",
  features: {
    forms: ["rowLock", "lease", "advisoryLock"],
    isolations,
    // READPAST is refused at the others.
    rowLockIsolations: ["readCommitted", "repeatableRead"],
    modes: [],
    listenNotify: false,
    // A row that was changed since the snapshot began cannot be changed in it (Msg 3960).
    conflictingIsolations: ["snapshot"],
    errorsAbortTransactions: false,
    longestName,
    // The protocol takes 2,100, and the driver needs some of them for itself.
    mostParameters: 2_090,
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
  placeholder,
  quoted,
  begin,
  safeLevel: "readCommitted",
  beginShort,
  savepoint: (of) => ({
    set: `SAVE TRANSACTION intray_${of}`,
    rollback: `ROLLBACK TRANSACTION intray_${of}`,
  }),
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
    refusal: refusalIn,
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
