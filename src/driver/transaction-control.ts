import { splitStatements } from "./sql-words.ts";

/** A statement that begins or ends a transaction. */
export interface TransactionControl {
  readonly kind: "begin" | "commit" | "rollback" | "prepare";
  /** As a message names it: `START TRANSACTION`, `COMMIT`... */
  readonly keyword: string;
  /** Whether it is the only statement of the text. */
  readonly isAlone: boolean;
  /** `COMMIT AND CHAIN` begins the next transaction at once. */
  readonly chains: boolean;
}

/**
 * The keyword of the first statement in SQL text that begins or ends a transaction, and undefined
 * where there is none. Savepoints are none: `ROLLBACK TO` stays within the transaction. Comments,
 * strings and function bodies are skipped.
 *
 * `database`, where it is known: the same words do not mean the same on each.
 *
 * A guard against accidents, not against an attacker: SQL can hide a statement in more ways.
 *
 * @example
 * transactionControl("INSERT INTO t VALUES (1); commit");     // "COMMIT"
 * transactionControl("SELECT 'commit' -- ; rollback");        // undefined
 */
export function transactionControl(text: string, database?: string): string | undefined {
  // SQLite takes a name there, and ends the whole transaction all the same.
  if (
    database === "sqlite" &&
    MAY_CONTROL.test(text) &&
    splitStatements(text).some(({ words }) => isNamedRollback(words))
  ) {
    return "ROLLBACK";
  }
  return findTransactionControl(text)?.keyword;
}

/** Like {@link transactionControl}, with what a guarded client needs to know. */
export function findTransactionControl(text: string): TransactionControl | undefined {
  // Nearly all SQL has none of these letters in a row, and is done here.
  if (!MAY_CONTROL.test(text)) return undefined;
  const statements = splitStatements(text);
  let hasBlock = false;
  for (const { words } of statements) {
    const found = classify(words);
    // What closes a block of T-SQL is no COMMIT.
    const isBlockEnd = found?.keyword === "END" && hasBlock;
    if (found !== undefined && !isBlockEnd) return { ...found, isAlone: statements.length === 1 };
    hasBlock ||= BEGINS_BLOCK.has(words[0] ?? "");
  }
  return undefined;
}

const BEGINS_BLOCK: ReadonlySet<string> = new Set(["BEGIN", "IF", "ELSE", "WHILE"]);

const MAY_CONTROL = /begin|start|commit|end|rollback|abort|prepare/i;

function classify(words: readonly string[]): Omit<TransactionControl, "isAlone"> | undefined {
  const [first, second] = words;
  const chains = chainsOn(words);
  switch (first) {
    case "BEGIN":
      return BEGINS.has(second ?? "")
        ? { kind: "begin", keyword: "BEGIN", chains: false }
        : undefined;
    case "START":
      return second === "TRANSACTION"
        ? { kind: "begin", keyword: "START TRANSACTION", chains: false }
        : undefined;
    case "END":
      return ENDS.has(second ?? "") ? { kind: "commit", keyword: "END", chains } : undefined;
    case "COMMIT":
      return { kind: "commit", keyword: "COMMIT", chains };
    case "ABORT":
      return { kind: "rollback", keyword: "ABORT", chains };
    case "ROLLBACK":
      return isToSavepoint(words) ? undefined : { kind: "rollback", keyword: "ROLLBACK", chains };
    case "PREPARE":
      return second === "TRANSACTION"
        ? { kind: "prepare", keyword: "PREPARE TRANSACTION", chains: false }
        : undefined;
    default:
      return undefined;
  }
}

/** What follows BEGIN where it begins a transaction. T-SQL has blocks too: BEGIN TRY, BEGIN SELECT... */
const BEGINS: ReadonlySet<string> = new Set([
  "",
  "WORK",
  "TRANSACTION",
  "TRAN",
  "DISTRIBUTED",
  "DEFERRED",
  "IMMEDIATE",
  "EXCLUSIVE",
  "CONCURRENT",
  "ISOLATION",
  "READ",
  "NOT",
  "DEFERRABLE",
]);

/** What follows END where it is another word for COMMIT. */
const ENDS: ReadonlySet<string> = new Set(["", "WORK", "TRANSACTION", "AND"]);

/** `ROLLBACK TRANSACTION s`. */
function isNamedRollback([first, second, third]: readonly string[]): boolean {
  return first === "ROLLBACK" && second === "TRANSACTION" && third !== undefined && third !== "TO";
}

/** `ROLLBACK TO s`, and as T-SQL says it, `ROLLBACK TRANSACTION s`. */
function isToSavepoint([, second, third]: readonly string[]): boolean {
  if (second === "WORK") return third === "TO";
  if (second === "TRANSACTION" || second === "TRAN") return third !== undefined && third !== "AND";
  return second === "TO";
}

function chainsOn(words: readonly string[]): boolean {
  const and = words.indexOf("AND");
  return and > 0 && words[and + 1] === "CHAIN";
}
