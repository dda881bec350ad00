/**
 * Whether a text is a batch of T-SQL, as far as can be told without a server: a grammar of the language
 * (antlr4ts-sql) reads it, and the house rules are checked by its tokens. What is no error here may still
 * fail on a server: names, types and what a feature allows are not known to a grammar.
 */
import { CharStreams, CommonTokenStream } from "antlr4ts";
import { PredictionMode } from "antlr4ts/atn/PredictionMode.js";
import type { ParseTree } from "antlr4ts/tree/ParseTree.js";
import { TSqlLexer } from "antlr4ts-sql/dist/src/grammar-output/tsql/TSqlLexer.js";
import {
  Execute_body_batchContext,
  TSqlParser,
} from "antlr4ts-sql/dist/src/grammar-output/tsql/TSqlParser.js";

/** A word, a quoted name, a text, a number or a sign of the batch; without white space and comments. */
interface Word {
  /** As it is written. */
  readonly text: string;
  /** In capitals, unless it is a text or a name in brackets, which are never words of the language. */
  readonly word: string;
  readonly line: number;
}

/**
 * What is wrong with a batch, a sentence each; nothing where it is right. `params`: how many parameters it
 * has; then each of `@p1`... must be used, and no others.
 */
export function tsqlFaults(text: string, params?: number): string[] {
  const words = wordsOf(text);
  return [
    ...foreignFaults(words),
    ...grammarFaults(text),
    ...houseFaults(words),
    ...variableFaults(words),
    ...(params === undefined ? [] : parameterFaults(words, params)),
  ];
}

function lexerOf(text: string): TSqlLexer {
  // The grammar's keywords are in capitals. The package's own stream for that has no text to read back.
  // NOWAIT is a hint that the grammar does not know; everything else keeps its place.
  const known = text.replace(/, NOWAIT(?=\))/g, (hint) => " ".repeat(hint.length));
  const capitals = known.replace(/[a-z]/g, (letter) => letter.toUpperCase());
  return new TSqlLexer(CharStreams.fromString(capitals));
}

/** Fast first: what that refuses is read again by all of the grammar, which alone is right then. */
function grammarFaults(text: string): string[] {
  const faults = grammarFaultsBy(text, PredictionMode.SLL);
  return faults.length === 0 ? faults : grammarFaultsBy(text, PredictionMode.LL);
}

function grammarFaultsBy(text: string, mode: PredictionMode): string[] {
  const faults: string[] = [];
  const listener = {
    syntaxError(_on: unknown, _symbol: unknown, line: number, column: number, message: string) {
      // What it would rather have read is most of the language.
      const found = message.replace(/ expecting \{.*/s, "");
      faults.push(`line ${line}, column ${column}: ${found}`);
    },
  };
  const lexer = lexerOf(text);
  lexer.removeErrorListeners();
  lexer.addErrorListener(listener);
  const parser = new TSqlParser(new CommonTokenStream(lexer));
  parser.removeErrorListeners();
  parser.addErrorListener(listener);
  parser.interpreter.setPredictionMode(mode);
  const tree = parser.tsql_file();
  // "EXEC" may be left out of a batch's first call, so the grammar takes any words for one.
  for (const call of nodesOf(tree)) {
    if (call instanceof Execute_body_batchContext) {
      faults.push(`line ${call.start.line}: "${call.text.slice(0, 40)}" is no statement`);
    }
  }
  return faults;
}

function* nodesOf(tree: ParseTree): Generator<ParseTree> {
  yield tree;
  for (let at = 0; at < tree.childCount; at += 1) yield* nodesOf(tree.getChild(at));
}

function wordsOf(text: string): Word[] {
  const characters = Array.from(text);
  const lexer = lexerOf(text);
  lexer.removeErrorListeners();
  return lexer
    .getAllTokens()
    .filter(({ channel }) => channel === 0)
    .map(({ line, startIndex, stopIndex }) => {
      const written = characters.slice(startIndex, stopIndex + 1).join("");
      const isQuoted = /^(N?'|\[|")/i.test(written);
      return { text: written, word: isQuoted ? written : written.toUpperCase(), line };
    });
}

/** Signs and words of other databases that the grammar takes for names or lets through. */
function foreignFaults(words: readonly Word[]): string[] {
  const faults: string[] = [];
  words.forEach(({ text, word, line }, at) => {
    const next = words[at + 1];
    const fault = (what: string) => faults.push(`line ${line}: ${what} is no T-SQL`);
    if (["LIMIT", "RETURNING", "ILIKE", "LATERAL", "MATERIALIZED", "RECURSIVE"].includes(word)) {
      fault(text);
    }
    if (["::", ":", "||"].includes(text)) fault(text);
    if (/^\$\d/.test(text)) fault(`${text}, a parameter,`);
    if (text === "$" && next !== undefined && /^\d/.test(next.text))
      fault(`$${next.text}, a parameter,`);
    if (["TRUE", "FALSE"].includes(word)) fault(text);
    if (word === "NOW" && next?.text === "(") fault("now()");
  });
  return faults;
}

/** What runs on some servers only, or wrongly beside others: see docs/sqlserver.md. */
function houseFaults(words: readonly Word[]): string[] {
  const faults: string[] = [];
  words.forEach(({ line, word }, at) => {
    const after = (count: number) => words[at + count]?.word;
    const fault = (what: string) => faults.push(`line ${line}: ${what}`);
    if (word === "MERGE" && after(1) !== "JOIN") fault("MERGE is not used");
    if (word === "APPLY") fault("APPLY is not used");
    if (["APPLOCK_TEST", "APPLOCK_MODE", "OBJECTPROPERTY"].includes(word)) {
      fault(`${word} is not used`);
    }
    if (word === "OUTPUT") {
      for (const other of othersIn(words, at)) fault(`OUTPUT says something of ${other}`);
    }
    if (word === "DECLARE" && depthAt(words, at) > 0) fault("DECLARE stands within BEGIN ... END");
    if (word === "WAITFOR") fault("WAITFOR is not used");
    if (word === "CREATE" && after(1) === "OR" && after(2) === "ALTER") {
      fault("CREATE OR ALTER is not used");
    }
    if (/^N?'/.test(word) && /^'/.test(word) && !isPlain(word)) {
      fault(`${word} holds more than ASCII and is no N'...'`);
    }
    if (word === "BEGIN" && /^TRAN(SACTION)?$/.test(after(1) ?? "")) {
      fault("the driver begins transactions");
    }
    if (["COMMIT", "ROLLBACK"].includes(word)) fault("the driver ends transactions");
  });
  for (const name of cteNames(words)) {
    words.forEach(({ line, word }, at) => {
      if (!["UPDATE", "DELETE"].includes(word)) return;
      const target = targetAt(words, at);
      if (target !== undefined && sameName(target, name)) {
        faults.push(`line ${line}: ${word} of the CTE ${name}`);
      }
    });
  }
  return faults;
}

/** Tables that an OUTPUT names beside `inserted` and `deleted`. */
function othersIn(words: readonly Word[], at: number): string[] {
  const isEnd = (word: string) => ["INTO", "SELECT", "VALUES", "FROM", "WHERE"].includes(word);
  const end = words.findIndex(({ word }, place) => place > at && isEnd(word));
  return words
    .slice(at + 1, end)
    .filter(({ text, word }, place, all) => {
      const isName = /^[\w[]/.test(text) && all[place + 1]?.text === ".";
      return isName && !["INSERTED", "DELETED"].includes(word);
    })
    .map(({ text }) => text);
}

/** How many BEGIN ... END, and TRY and CATCH among them, are open there. */
function depthAt(words: readonly Word[], at: number): number {
  let depth = 0;
  let cases = 0;
  for (const { word } of words.slice(0, at)) {
    if (word === "CASE") cases += 1;
    else if (word === "BEGIN") depth += 1;
    else if (word === "END" && cases > 0) cases -= 1;
    else if (word === "END") depth -= 1;
  }
  return depth;
}

function isPlain(text: string): boolean {
  return /^[\x20-\x7e\s]*$/.test(text);
}

/** Names that are given to the queries of a WITH. */
function cteNames(words: readonly Word[]): string[] {
  return words.flatMap(({ text }, at) => {
    const before = words[at - 1]?.word;
    if (before !== "WITH" && before !== ",") return [];
    // name AS ( SELECT, or name (columns) AS ( SELECT
    let next = at + 1;
    if (words[next]?.text === "(") {
      while (next < words.length && words[next]?.text !== ")") next += 1;
      next += 1;
    }
    const isQuery =
      words[next]?.word === "AS" &&
      words[next + 1]?.text === "(" &&
      words[next + 2]?.word === "SELECT";
    return isQuery ? [text] : [];
  });
}

/** What the UPDATE or DELETE at this place changes: the name behind it, or the table behind its alias. */
function targetAt(words: readonly Word[], at: number): string | undefined {
  let place = at + 1;
  if (words[place]?.word === "TOP") {
    while (place < words.length && words[place]?.text !== ")") place += 1;
    place += 1;
  }
  if (words[place]?.word === "FROM") place += 1;
  const alias = words[place]?.text;
  if (alias === undefined) return undefined;
  // FROM name AS alias, up to the statement's end.
  for (let next = place + 1; next < words.length && words[next]?.text !== ";"; next += 1) {
    const isAlias = words[next]?.word === "AS" && sameName(words[next + 1]?.text ?? "", alias);
    const opener = words[next - 2]?.word ?? "";
    if (isAlias && ["FROM", "JOIN", ","].includes(opener)) return words[next - 1]?.text;
  }
  return alias;
}

function sameName(one: string, other: string): boolean {
  const bare = (name: string) => name.replace(/^\[(.*)\]$/, "$1").toUpperCase();
  return bare(one) === bare(other);
}

/** A variable that has a parameter's name is Msg 134; one that is declared twice, too. */
function variableFaults(words: readonly Word[]): string[] {
  const declared = new Set<string>();
  return words.flatMap(({ line, text }, at) => {
    if (!text.startsWith("@") || text.startsWith("@@") || !isDeclaration(words, at)) return [];
    const name = text.toUpperCase();
    if (/^@P\d+$/.test(name))
      return [`line ${line}: ${text} is declared, and is a parameter's name`];
    if (declared.has(name)) return [`line ${line}: ${text} is declared twice`];
    declared.add(name);
    return [];
  });
}

/** DECLARE @x type, and each further one of the same DECLARE. */
function isDeclaration(words: readonly Word[], at: number): boolean {
  const before = words[at - 1]?.word;
  if (before === "DECLARE") return true;
  if (before !== ",") return false;
  let depth = 0;
  for (let back = at - 1; back >= 0; back -= 1) {
    const word = words[back]?.word;
    if (word === ")") depth += 1;
    if (word === "(") depth -= 1;
    if (depth < 0 || word === ";") return false;
    if (word === "DECLARE") return depth === 0;
  }
  return false;
}

/** Each of `@p1`... is used, and each variable that is used is declared. */
function parameterFaults(words: readonly Word[], params: number): string[] {
  const declared = new Set(
    words.filter((_, at) => isDeclaration(words, at)).map(({ word }) => word),
  );
  const used = words.filter(
    ({ text }, at) => text.startsWith("@") && !text.startsWith("@@") && !isArgumentName(words, at),
  );
  const wanted = Array.from({ length: params }, (_, index) => `@P${index + 1}`);
  const names = new Set(used.map(({ word }) => word));
  return [
    ...wanted.filter((name) => !names.has(name)).map((name) => `${name.toLowerCase()} is not used`),
    ...[...names]
      .filter((name) => !wanted.includes(name) && !declared.has(name))
      .map((name) => `${name.toLowerCase()} is no parameter and is not declared`),
  ];
}

/** `@Resource` in EXEC sp_getapplock @Resource = ...: the procedure's own. */
function isArgumentName(words: readonly Word[], at: number): boolean {
  if (words[at + 1]?.text !== "=") return false;
  for (let back = at - 1; back >= 0; back -= 1) {
    const word = words[back]?.word;
    if (word === "EXEC" || word === "EXECUTE") return back !== at - 1;
    if (word === ";" || word === "SET" || word === "SELECT" || word === "WHERE") return false;
  }
  return false;
}
