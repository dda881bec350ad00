/**
 * Second rule: user information and secret parameters in URLs.
 *
 *     amqp://app:pa/ss@rabbit:5672/vh        ->  amqp://***@rabbit:5672/vh
 *     https://host/path?token=a,b&page=2     ->  https://host/path?token=***&page=2
 *
 * A URL starts with a scheme (a letter and up to 31 of letters, digits, `+.-`), a colon and one or two
 * slashes, and lasts until white space. Which `@` ends its user information is the business of
 * `user-information.ts`. Behind `?`, `&` or `;`, the parameters password, pwd, secret and token lose
 * their value up to `&`, `;` or white space, brackets and commas included: the first rule has masked
 * only the part of the value that it could tell from the text around it.
 */
import {
  AMPERSAND,
  type Characters,
  COLON,
  DOT,
  HYPHEN,
  isDigit,
  isLetter,
  isSpace,
  PLUS,
  QUESTION,
  Rewrite,
  SEMICOLON,
  SLASH,
} from "./characters.ts";
import { UserInformation } from "./user-information.ts";

const MASK = "***";
const MAX_SCHEME_LENGTH = 32;
const SECRET_PARAMETERS: readonly string[] = ["password=", "pwd=", "secret=", "token="];

export function redactUrls(characters: Characters): string {
  const rewrite = new Rewrite(characters.text);
  const userInformation = new UserInformation(characters);
  let inUrl = false;
  let index = 0;
  while (index < characters.length) {
    const code = characters.code(index);
    if (code === COLON && schemeEndsAt(characters, index)) {
      inUrl = true;
      const start = afterSlashes(characters, index + 1);
      const end = userInformation.endAfter(start);
      if (end !== undefined && end > start) rewrite.replace(start, end, MASK);
      index = end ?? start;
    } else if (inUrl && isParameterMark(code)) {
      const start = secretParameterEnd(characters, index + 1);
      if (start !== undefined) index = maskParameter(characters, rewrite, start);
      else index += 1;
    } else {
      if (isSpace(code)) inUrl = false;
      index += 1;
    }
  }
  return rewrite.finish();
}

/** Whether a scheme stands in front of this colon, and a slash behind it. */
function schemeEndsAt(characters: Characters, colon: number): boolean {
  if (characters.code(colon + 1) !== SLASH) return false;
  for (let length = 1; length <= MAX_SCHEME_LENGTH; length += 1) {
    const code = characters.code(colon - length);
    // A scheme may start in the middle of a word, so the nearest letter is enough.
    if (isLetter(code)) return true;
    if (!isDigit(code) && code !== PLUS && code !== DOT && code !== HYPHEN) return false;
  }
  return false;
}

function afterSlashes(characters: Characters, firstSlash: number): number {
  return characters.code(firstSlash + 1) === SLASH ? firstSlash + 2 : firstSlash + 1;
}

function isParameterMark(code: number): boolean {
  return code === QUESTION || code === AMPERSAND || code === SEMICOLON;
}

function secretParameterEnd(characters: Characters, start: number): number | undefined {
  const name = SECRET_PARAMETERS.find((parameter) => characters.hasWord(parameter, start));
  return name === undefined ? undefined : start + name.length;
}

/** Masks the value that starts at `start` and returns where it ends. */
function maskParameter(characters: Characters, rewrite: Rewrite, start: number): number {
  let end = start;
  while (end < characters.length && !endsParameter(characters.code(end))) end += 1;
  if (end > start) rewrite.replace(start, end, MASK);
  return end;
}

function endsParameter(code: number): boolean {
  return code === AMPERSAND || code === SEMICOLON || isSpace(code);
}
