/**
 * The text that a redaction pass reads, one character at a time.
 *
 * Every rule of the redaction is a hand-written walk over this class, because a pattern that looks
 * for the end of a secret from every possible start is quadratic on hostile text. `visits` counts
 * the characters read: the tests assert that it grows with the text and no faster.
 */
export class Characters {
  readonly text: string;
  readonly length: number;
  /** How many characters have been read so far. */
  visits = 0;

  constructor(text: string) {
    this.text = text;
    this.length = text.length;
  }

  /** The UTF-16 code unit at `index`, or 0 before the start and from the end on. */
  code(index: number): number {
    this.visits += 1;
    return index >= 0 && index < this.length ? this.text.charCodeAt(index) : 0;
  }

  /** The first index from `from` on that is not white space. */
  afterSpace(from: number): number {
    let index = from;
    while (isSpace(this.code(index))) index += 1;
    return index;
  }

  /** Whether `word`, in lower-case ASCII letters, stands at `from` in any case. */
  hasWord(word: string, from: number): boolean {
    for (let offset = 0; offset < word.length; offset += 1) {
      if (lowerCase(this.code(from + offset)) !== word.charCodeAt(offset)) return false;
    }
    return true;
  }
}

/** A text that is copied but for some ranges of it, given from left to right. */
export class Rewrite {
  readonly #text: string;
  readonly #pieces: string[] = [];
  #copied = 0;

  constructor(text: string) {
    this.#text = text;
  }

  replace(from: number, to: number, replacement: string): void {
    this.#pieces.push(this.#text.slice(this.#copied, from), replacement);
    this.#copied = to;
  }

  finish(): string {
    if (this.#copied === 0) return this.#text;
    return this.#pieces.join("") + this.#text.slice(this.#copied);
  }
}

export const REDACTED = "[REDACTED]";

export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const SPACE = 0x20;
export const DOUBLE_QUOTE = 0x22;
export const HASH = 0x23;
export const AMPERSAND = 0x26;
export const SINGLE_QUOTE = 0x27;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const HYPHEN = 0x2d;
export const DOT = 0x2e;
export const SLASH = 0x2f;
export const COLON = 0x3a;
export const SEMICOLON = 0x3b;
export const EQUALS = 0x3d;
export const QUESTION = 0x3f;
export const AT = 0x40;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const UNDERSCORE = 0x5f;
export const CLOSE_BRACE = 0x7d;
export const TILDE = 0x7e;

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

export function lowerCase(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
}

export function isLetter(code: number): boolean {
  const lower = lowerCase(code);
  return lower >= 0x61 && lower <= 0x7a;
}

/** A letter, a digit or an underscore. */
export function isWord(code: number): boolean {
  return isLetter(code) || isDigit(code) || code === UNDERSCORE;
}

/** What `\s` is to a regular expression. */
export function isSpace(code: number): boolean {
  if (code < 0x80) return code === SPACE || (code >= TAB && code <= 0x0d);
  return (
    code === 0xa0 ||
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000 ||
    code === 0xfeff
  );
}
