/**
 * Takes secrets out of text before it is logged or stored. The rules run in this order, each in one
 * pass over what the one before has left (a file each, beside this one):
 *
 * 1. the values of keys that name a secret,
 * 2. user information and secret parameters in URLs,
 * 3. credentials behind a bare scheme word (`Bearer ...`),
 * 4. the cut to `MAX_ERROR_LENGTH`: last, so that it never leaves half a secret that no rule can see.
 *
 * NUL characters go before all of them: PostgreSQL cannot store one, and one in the middle of a key
 * would hide the key from the rules. Each pass is linear in the text, however hostile.
 */
import { redactBareSchemes } from "./bare-schemes.ts";
import { Characters } from "./characters.ts";
import { redactKeyValues } from "./key-values.ts";
import { redactUrls } from "./urls.ts";

/** The most characters (UTF-16 code units) of a sanitized text, its truncation marker included. */
export const MAX_ERROR_LENGTH: number = 2000;

const TRUNCATED = "...[truncated]";

const PASSES: readonly ((characters: Characters) => string)[] = [
  redactKeyValues,
  redactUrls,
  redactBareSchemes,
];

/**
 * Masks the secrets in a text (passwords, tokens, cookies, keys, credentials in URLs and headers),
 * strips NUL characters, and cuts the result to `MAX_ERROR_LENGTH` with the marker `...[truncated]`.
 *
 * @example
 * sanitize("connect to postgres://app:hunter2@db:5432/shop failed, token=abc");
 * // "connect to postgres://***@db:5432/shop failed, token=[REDACTED]"
 */
export function sanitize(text: string): string;
export function sanitize(text: undefined): undefined;
export function sanitize(text: string | undefined): string | undefined;
export function sanitize(text: string | undefined): string | undefined {
  return text === undefined ? undefined : truncate(redact(text));
}

/** The rules without the cut; `onVisits` is told how many characters each pass has read. */
export function redact(text: string, onVisits?: (visits: number) => void): string {
  let result = text.replaceAll("\0", "");
  for (const pass of PASSES) {
    const characters = new Characters(result);
    result = pass(characters);
    onVisits?.(characters.visits);
  }
  return result;
}

function truncate(text: string): string {
  if (text.length <= MAX_ERROR_LENGTH) return text;
  let end = MAX_ERROR_LENGTH - TRUNCATED.length;
  if (isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end))) end -= 1;
  return text.slice(0, end) + TRUNCATED;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
