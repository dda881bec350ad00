/**
 * First rule: the value of a key that names a secret.
 *
 *     password: hunter2        ->  password=[REDACTED]
 *     {"api-key":"a\"b"}       ->  {"api-key=[REDACTED]}
 *     DB_PWD='x y'; host=db    ->  DB_PWD=[REDACTED]; host=db
 *
 * A key is any letters, digits and underscores that end in one of `SECRET_NAMES`; what stands in
 * front of the name stays as it is and need not be looked at. Then come an optional double quote,
 * white space, a run of `:` or a run of `=`, white space, and the value:
 *
 * - quoted: to the closing quote, over backslash escapes; an unclosed one ends at the line feed.
 * - bare: after an optional scheme word (`Bearer`...), to `,` `;` `}` `]` `&` `"` or a line feed;
 *   after `=` to white space, too. A `[REDACTED]` in it is a part of it, in spite of its bracket, so
 *   that text which is redacted twice does not grow brackets.
 *
 * The walk goes from separator to separator and looks back for the key, so that keys without a value
 * cost nothing. Every look-back and look-ahead ends at the nearest separator or at the end of the
 * value, which the walk then skips: each character is read a bounded number of times.
 */
import { schemeWordEnd } from "./bare-schemes.ts";
import {
  AMPERSAND,
  BACKSLASH,
  Characters,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  DOUBLE_QUOTE,
  EQUALS,
  HYPHEN,
  isSpace,
  LINE_FEED,
  lowerCase,
  OPEN_BRACKET,
  REDACTED,
  Rewrite,
  SEMICOLON,
  SINGLE_QUOTE,
  UNDERSCORE,
} from "./characters.ts";

/**
 * The names, in lower case; a hyphen stands for `-`, `_`, `.` or nothing. Some end in another one
 * and so add nothing (`x-api-key`); they are here because this list is what the documentation says.
 */
const SECRET_NAMES: readonly string[] = [
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "api-key",
  "cookie",
  "set-cookie",
  "x-auth-token",
  "token",
  "access-token",
  "refresh-token",
  "client-secret",
  "secret",
  "password",
  "pwd",
  "passwd",
  "credential",
  "credentials",
  "passphrase",
  "private-key",
  "aws-secret-access-key",
  "account-key",
  "shared-access-key",
  "secret-key",
];

export function redactKeyValues(characters: Characters): string {
  const rewrite = new Rewrite(characters.text);
  let index = 0;
  let lastValueEnd = 0;
  while (index < characters.length) {
    const separator = characters.code(index);
    if (separator !== COLON && separator !== EQUALS) {
      index += 1;
      continue;
    }
    const keyEnd = keyEndBefore(characters, index, lastValueEnd);
    while (characters.code(index) === separator) index += 1;
    if (keyEnd === undefined) continue;

    const valueStart = characters.afterSpace(index);
    const valueEnd = endOfValue(characters, valueStart, separator);
    if (valueEnd === valueStart) continue;
    rewrite.replace(keyEnd, valueEnd, `=${REDACTED}`);
    index = valueEnd;
    lastValueEnd = valueEnd;
  }
  return rewrite.finish();
}

/** Whether a property of this name holds a secret. */
export function isSecretKey(name: string): boolean {
  return secretNameEndsAt(new Characters(name), name.length);
}

/** The key in front of a separator, unless it is a part of the value before. */
function keyEndBefore(
  characters: Characters,
  separator: number,
  lastValueEnd: number,
): number | undefined {
  let end = separator;
  while (isSpace(characters.code(end - 1))) end -= 1;
  if (characters.code(end - 1) === DOUBLE_QUOTE) end -= 1;
  return end > lastValueEnd && secretNameEndsAt(characters, end) ? end : undefined;
}

function secretNameEndsAt(characters: Characters, end: number): boolean {
  return SECRET_NAMES.some((name) => nameEndsAt(characters, name, end));
}

function nameEndsAt(characters: Characters, name: string, end: number): boolean {
  let index = end;
  for (let letter = name.length - 1; letter >= 0; letter -= 1) {
    const expected = name.charCodeAt(letter);
    const code = characters.code(index - 1);
    if (expected === HYPHEN) {
      if (code === HYPHEN || code === UNDERSCORE || code === DOT) index -= 1;
    } else if (lowerCase(code) === expected) {
      index -= 1;
    } else {
      return false;
    }
  }
  return true;
}

/** Where the value that starts at `start` ends; at `start` if there is none. */
function endOfValue(characters: Characters, start: number, separator: number): number {
  const quote = characters.code(start);
  if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) return endOfQuoted(characters, start);

  const schemeEnd = schemeWordEnd(characters, start);
  if (schemeEnd !== undefined && isSpace(characters.code(schemeEnd))) {
    const credentials = characters.afterSpace(schemeEnd);
    const end = endOfBare(characters, credentials, separator);
    if (end > credentials) return end;
  }
  return endOfBare(characters, start, separator);
}

function endOfQuoted(characters: Characters, start: number): number {
  const quote = characters.code(start);
  let index = start + 1;
  while (index < characters.length) {
    const code = characters.code(index);
    if (code === LINE_FEED) return index;
    index += 1;
    if (code === quote) return index;
    if (code === BACKSLASH && characters.code(index) !== LINE_FEED) index += 1;
  }
  return characters.length;
}

function endOfBare(characters: Characters, start: number, separator: number): number {
  let index = start;
  while (index < characters.length) {
    const code = characters.code(index);
    if (code === OPEN_BRACKET && characters.text.startsWith(REDACTED, index)) {
      index += REDACTED.length;
    } else if (endsBare(code) || (separator === EQUALS && isSpace(code))) {
      return index;
    } else {
      index += 1;
    }
  }
  return index;
}

function endsBare(code: number): boolean {
  return (
    code === COMMA ||
    code === SEMICOLON ||
    code === CLOSE_BRACE ||
    code === CLOSE_BRACKET ||
    code === AMPERSAND ||
    code === DOUBLE_QUOTE ||
    code === LINE_FEED
  );
}
