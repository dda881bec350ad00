import type { InboxSchema } from "../../dialect/inbox-schema.ts";
import type { InboxStatements } from "../../dialect/inbox-statement.ts";
import { inboxSql } from "../../queuebox/inbox-sql.ts";
import type { SqlDialect } from "../../queuebox/types.ts";
import { type NamedStatement, namedStatement } from "./named-sql.ts";

/** One of the five statements, as a file has it. */
export interface SqlFile extends NamedStatement {
  readonly name: keyof InboxStatements;
  /** The statement behind a comment that says how to use it, and a semicolon. */
  readonly content: string;
}

const CHANGED = "Answers one row where a row was changed, and none where none was.";

/** What each is for. No colon and no quote in these: not every reader of `:name` skips comments. */
const PURPOSES: readonly (readonly [keyof InboxStatements, readonly string[]])[] = [
  [
    "claim",
    [
      "Takes up to batch messages of a source, at most one of an aggregate, and holds them for lease_ms",
      "milliseconds. Run it by itself and commit before any message is worked. cand_limit is three times",
      "the batch, at least 50 and at most 500. Keep claim_token with each row, the others need it.",
    ],
  ],
  [
    "renew",
    [
      "Holds a message for lease_ms more milliseconds from now. No row changed, the claim was lost.",
    ],
  ],
  [
    "complete",
    [
      "The message is done. Run it in the transaction of the work, last. No row changed, the claim was",
      "lost and the transaction must be rolled back.",
    ],
  ],
  [
    "retry",
    [
      "The message failed and comes again after delay_ms milliseconds. Run it after the rollback of the",
      "work. No row changed, the claim was lost.",
    ],
  ],
  [
    "dead",
    [
      "The message failed and is given up. Run it after the rollback of the work. No row changed, the",
      "claim was lost.",
    ],
  ],
];

/** What is otherwise on SQL Server. The same rules hold for these lines. */
const ON_SQL_SERVER: { readonly [name in keyof InboxStatements]: readonly string[] } = {
  claim: [
    "The transaction is a must here, at READ COMMITTED, as the lock of the source is the transaction's.",
    "Error 51000 says that the lock was not to be had, and the same again may work.",
  ],
  renew: [CHANGED],
  complete: [CHANGED],
  retry: [CHANGED],
  dead: [CHANGED],
};

/** The five statements that make a worker in any language. */
export function sqlFiles(dialect: SqlDialect, schema: InboxSchema): SqlFile[] {
  const statements = inboxSql(dialect, schema);
  return PURPOSES.map(([name, purpose]) => {
    const { text, params } = namedStatement(statements[name]);
    const more = dialect === "sqlserver" ? ON_SQL_SERVER[name] : [];
    const comment = [...purpose, ...more, `Parameters ${params.join(", ")}`];
    const content = `${comment.map((line) => `-- ${line}\n`).join("")}${text.replace(/;$/, "")};\n`;
    return { name, text, params, content };
  });
}
