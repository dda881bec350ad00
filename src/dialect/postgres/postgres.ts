import type { Dialect } from "../dialect.ts";
import { isSessionLost, isTransactionAborted, isTransient, isUnstorableText } from "./errors.ts";
import { prepareStatement } from "./prepare.ts";
import { arrayText, isClaimLost, longestName, quoted } from "./sql.ts";
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
  sessionStatement,
  versionStatement,
} from "./table-catalogue.ts";
import { fits } from "./table-column-types.ts";
import { tableChannel, tableDdl } from "./table-ddl.ts";
import { tableIndexes } from "./table-indexes.ts";
import { insertStatement } from "./table-insert.ts";
import { leaseStatements } from "./table-lease.ts";
import { rowLockStatements } from "./table-row-lock.ts";
import { statusStatement } from "./table-status.ts";
import { timeoutsStatement } from "./timeouts.ts";
import { checkDeferred, transactionStatements } from "./transaction-truth.ts";
import { begin, isolations } from "./transactions.ts";
import { types } from "./types.ts";

/** Described tables on PostgreSQL 11 and later. */
export const postgres: Dialect = {
  name: "postgres",
  features: {
    forms: ["rowLock", "lease", "advisoryLock"],
    isolations,
    conflictingIsolations: ["repeatableRead", "serializable"],
    modes: [],
    listenNotify: true,
    errorsAbortTransactions: true,
    longestName,
  },
  errors: { isSessionLost, isTransient, isUnstorableText, isTransactionAborted, isClaimLost },
  placeholder: (position) => `$${position}`,
  quoted,
  begin,
  safeLevel: "readCommitted",
  beginShort: begin("readCommitted"),
  savepoint: (of) => ({
    set: `SAVEPOINT intray_${of}`,
    rollback: `ROLLBACK TO SAVEPOINT intray_${of}`,
  }),
  checkDeferred,
  transactions: transactionStatements,
  list: arrayText,
  types,
  rowLock: rowLockStatements,
  lease: leaseStatements,
  advisoryLock: advisoryLockStatements,
  insert: insertStatement,
  // Its answer as text: Prisma reads no void.
  notify: () => ({
    text: "SELECT pg_notify($1::text, $2::text)::text",
    params: ["channel", "payload"],
  }),
  channel: tableChannel,
  inspection: {
    columns: columnsStatement,
    timeouts: timeoutsStatement(),
    isolation: isolationStatement,
    session: sessionStatement,
    version: versionStatement,
    oldestVersion: { version: 110_000, label: "11" },
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
  ddl: tableDdl,
};
