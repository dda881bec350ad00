import type { InboxDialect } from "../inbox-dialect.ts";
import {
  endsTransaction,
  isClaimLost,
  isSessionLost,
  isTransactionAborted,
  isTransactionOver,
  isTransient,
  isUnstorableText,
} from "./errors.ts";
import {
  columnsStatement,
  indexesStatement,
  requirementsStatement,
  timeoutsStatement,
} from "./inbox-catalogue.ts";
import { claimStatement, claimWindow } from "./inbox-claim.ts";
import { claimPastByAggregateStatement, claimPastInOrderStatement } from "./inbox-claim-past.ts";
import { aggregateIndexDdl } from "./inbox-ddl.ts";
import { releaseAllStatement, renewAllStatement } from "./inbox-lease.ts";
import { lookAgainStatement } from "./inbox-look-again.ts";
import { readBackStatement } from "./inbox-read-back.ts";
import { completeOrFailStatement, deadStatement, retryStatement } from "./inbox-settle.ts";
import { prepareStatement, refusalIn } from "./prepare.ts";
import { placeholder, valuesText } from "./sql.ts";
import { begin } from "./transactions.ts";

/** The inbox on SQL Server. */
export const sqlserverInbox: InboxDialect = {
  database: "sqlserver",
  begin: begin("readCommitted"),
  placeholder,
  statements: (schema, settings) => ({
    claim: claimStatement(schema, settings),
    claimWindow: claimWindow(settings.batchSize),
    claimPastByAggregate: claimPastByAggregateStatement(schema, settings),
    claimPastInOrder: claimPastInOrderStatement(schema, settings),
    lookAgain: lookAgainStatement(schema),
    renewAll: renewAllStatement(schema),
    releaseAll: releaseAllStatement(schema),
    completeOrFail: completeOrFailStatement(schema),
    retry: retryStatement(schema),
    dead: deadStatement(schema),
    readBack: readBackStatement(schema),
    requirements: requirementsStatement(),
    columns: columnsStatement(schema),
    indexes: indexesStatement(schema),
    timeouts: timeoutsStatement(),
  }),
  preparing: { prepare: prepareStatement, refusal: refusalIn },
  aggregateIndexDdl,
  list: valuesText,
  errors: {
    isSessionLost,
    isTransient,
    isUnstorableText,
    isTransactionAborted,
    endsTransaction,
    isTransactionOver,
    isClaimLost,
  },
};
