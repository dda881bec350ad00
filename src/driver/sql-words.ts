/**
 * Splits PostgreSQL text into statements, as far as telling them apart needs: comments, quoted text
 * and numbers are skipped, never interpreted. One pass, linear in the text.
 */

/** One statement: its words in upper case, up to {@link WORDS_KEPT}, without anything that is quoted. */
export interface StatementWords {
  readonly words: readonly string[];
}

/** Enough to recognise every transaction statement: `ROLLBACK WORK TO SAVEPOINT name`. */
const WORDS_KEPT = 5;

/** Longer than every keyword that matters, so that an identifier of a megabyte is not copied. */
const LONGEST_KEYWORD = 16;

export function splitStatements(text: string): StatementWords[] {
  const statements: StatementWords[] = [];
  let words: string[] = [];
  let isEmpty = true;
  // `CREATE FUNCTION ... BEGIN ATOMIC a; b; END` is one statement, semicolons and all.
  let atomicDepth = 0;
  let previous = "";
  const end = () => {
    if (!isEmpty) statements.push({ words });
    words = [];
    isEmpty = true;
    previous = "";
  };

  let at = 0;
  while (at < text.length) {
    const skipped = skipIgnored(text, at);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    if (text[at] === ";") {
      at++;
      if (atomicDepth === 0) end();
      continue;
    }
    isEmpty = false;
    const next = skipQuoted(text, at);
    if (next > at) {
      at = next;
      previous = "";
      continue;
    }
    if (!isWordStart(text.charCodeAt(at))) {
      at++;
      previous = "";
      continue;
    }
    const wordEnd = skipWord(text, at);
    const word = wordEnd - at > LONGEST_KEYWORD ? "" : text.slice(at, wordEnd).toUpperCase();
    if (words.length < WORDS_KEPT) words.push(word);
    if (atomicDepth > 0) {
      if (word === "CASE") atomicDepth++;
      else if (word === "END") atomicDepth--;
    } else if (word === "ATOMIC" && previous === "BEGIN" && words[0] === "CREATE") {
      atomicDepth = 1;
    }
    previous = word;
    at = wordEnd;
  }
  end();
  return statements;
}

/** The end of white space or a comment that starts at `at`, else `at`. */
function skipIgnored(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === 32 || (code >= 9 && code <= 13)) return at + 1;
  if (text.startsWith("--", at)) {
    return skipLine(text, at);
  }
  return text.startsWith("/*", at) ? skipBlockComment(text, at) : at;
}

/** A carriage return alone ends a line comment too. */
function skipLine(text: string, start: number): number {
  let at = start;
  while (at < text.length && text[at] !== "\n" && text[at] !== "\r") at++;
  return Math.min(at + 1, text.length);
}

/** PostgreSQL's block comments nest. */
function skipBlockComment(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    if (text.startsWith("/*", at)) {
      depth++;
      at += 2;
    } else if (text.startsWith("*/", at)) {
      depth--;
      at += 2;
      if (depth === 0) return at;
    } else {
      at++;
    }
  }
  return at;
}

/** The end of a string, a quoted identifier or a dollar-quoted text that starts at `at`, else `at`. */
function skipQuoted(text: string, at: number): number {
  switch (text[at]) {
    case "'":
    case '"':
      return skipToQuote(text, at + 1, text[at] ?? "", false);
    case "e":
    case "E":
      return text[at + 1] === "'" ? skipToQuote(text, at + 2, "'", true) : at;
    case "$":
      return skipDollarQuoted(text, at);
    default:
      return at;
  }
}

/**
 * A doubled quote ends one string and begins the next, which comes to the same; but in `E'it''s \'` it
 * goes on with escapes, unlike a string of its own.
 */
function skipToQuote(text: string, start: number, quote: string, hasEscapes: boolean): number {
  for (let at = start; at < text.length; at++) {
    if (hasEscapes && text[at] === "\\") at++;
    else if (text[at] === quote) {
      if (!hasEscapes || text[at + 1] !== quote) return at + 1;
      at++;
    }
  }
  return text.length;
}

function skipDollarQuoted(text: string, at: number): number {
  let tagEnd = at + 1;
  if (isWordStart(text.charCodeAt(tagEnd))) {
    while (tagEnd < text.length && text[tagEnd] !== "$" && isWordPart(text.charCodeAt(tagEnd))) {
      tagEnd++;
    }
  }
  // A parameter ($1) or an operator.
  if (text[tagEnd] !== "$") return at;
  const tag = text.slice(at, tagEnd + 1);
  const close = text.indexOf(tag, tagEnd + 1);
  return close < 0 ? text.length : close + tag.length;
}

function skipWord(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && isWordPart(text.charCodeAt(at))) at++;
  return at;
}

/** A letter, an underscore, or anything beyond ASCII, as PostgreSQL has it. */
function isWordStart(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || code > 127;
}

function isWordPart(code: number): boolean {
  return isWordStart(code) || (code >= 48 && code <= 57) || code === 36;
}
