/**
 * Third rule: credentials behind the word of an HTTP authentication scheme, without a key.
 *
 *     got 401 for Bearer eyJhbGciOi...     ->  got 401 for Bearer [REDACTED]
 *     the token bucket is empty            ->  the same
 *     Digest authentication failed         ->  the same
 *
 * The scheme is a whole word in any case, then comes white space, then a token: letters, digits and
 * `._~+/-`, with any `=` after them. What tells credentials from prose is a digit, an `=`, or a length
 * of 16 characters. A candidate that is refused is shorter than that, so that reading it again as the
 * next word is cheap.
 */
import {
  type Characters,
  DOT,
  EQUALS,
  HYPHEN,
  isDigit,
  isLetter,
  isWord,
  PLUS,
  REDACTED,
  Rewrite,
  SLASH,
  TILDE,
  UNDERSCORE,
} from "./characters.ts";

const SCHEMES: readonly string[] = ["basic", "bearer", "digest", "negotiate", "token"];

/** From this length on, a token is taken for credentials whatever its characters. */
const CREDENTIALS_LENGTH = 16;

export function redactBareSchemes(characters: Characters): string {
  const rewrite = new Rewrite(characters.text);
  let index = 0;
  let inWord = false;
  while (index < characters.length) {
    const wordStarts = !inWord && isLetter(characters.code(index));
    const schemeEnd = wordStarts ? schemeWordEnd(characters, index) : undefined;
    if (schemeEnd === undefined) {
      inWord = isWord(characters.code(index));
      index += 1;
      continue;
    }
    const token = characters.afterSpace(schemeEnd);
    // Without white space nothing is read ahead: "basic/basic/basic/..." would read it all each time.
    const end = token > schemeEnd ? endOfCredentials(characters, token) : undefined;
    if (end !== undefined) {
      rewrite.replace(token, end, REDACTED);
      index = end;
    } else {
      index = schemeEnd;
    }
    // Neither a scheme nor credentials end where a word goes on.
    inWord = false;
  }
  return rewrite.finish();
}

/** Where the scheme word that starts at `start` ends, if a whole one does. */
export function schemeWordEnd(characters: Characters, start: number): number | undefined {
  const scheme = SCHEMES.find((word) => characters.hasWord(word, start));
  if (scheme === undefined) return undefined;
  const end = start + scheme.length;
  return isWord(characters.code(end)) ? undefined : end;
}

function endOfCredentials(characters: Characters, start: number): number | undefined {
  let index = start;
  let telling = false;
  for (; ; index += 1) {
    const code = characters.code(index);
    if (!isTokenCharacter(code)) break;
    telling ||= isDigit(code);
  }
  if (index === start) return undefined;
  while (characters.code(index) === EQUALS) {
    telling = true;
    index += 1;
  }
  return telling || index - start >= CREDENTIALS_LENGTH ? index : undefined;
}

function isTokenCharacter(code: number): boolean {
  return (
    isLetter(code) ||
    isDigit(code) ||
    code === DOT ||
    code === UNDERSCORE ||
    code === TILDE ||
    code === PLUS ||
    code === SLASH ||
    code === HYPHEN
  );
}
