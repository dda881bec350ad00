import type { InboxDialect } from "../inbox-dialect.ts";
import { isSessionLost, isTransactionAborted, isTransient, isUnstorableText } from "./errors.ts";
import { columnsStatement, indexesStatement } from "./inbox-catalogue.ts";
import { claimStatement, claimWindow } from "./inbox-claim.ts";
import { claimPastByAggregateStatement, claimPastInOrderStatement } from "./inbox-claim-past.ts";
import { aggregateIndexDdl, inboxChannel } from "./inbox-ddl.ts";
import { releaseAllStatement, renewAllStatement } from "./inbox-lease.ts";
import { lookAgainStatement } from "./inbox-look-again.ts";
import { readBackStatement } from "./inbox-read-back.ts";
import { completeOrFailStatement, deadStatement, retryStatement } from "./inbox-settle.ts";
import { arrayText, isClaimLost } from "./sql.ts";
import { timeoutsStatement } from "./timeouts.ts";
import { beginReadCommitted } from "./transactions.ts";

/** The inbox on PostgreSQL. */
export const postgresInbox: InboxDialect = {
  database: "postgres",
  begin: beginReadCommitted,
  placeholder: (position) => `$${position}`,
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
    columns: columnsStatement(schema),
    indexes: indexesStatement(schema),
    timeouts: timeoutsStatement(),
  }),
  channel: inboxChannel,
  aggregateIndexDdl,
  list: arrayText,
  errors: {
    isSessionLost,
    isTransient,
    isUnstorableText,
    isTransactionAborted,
    isClaimLost,
  },
};
