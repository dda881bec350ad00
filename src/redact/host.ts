/** What stands behind an `@`: whether it looks like a host, and what follows the host. */
import {
  type Characters,
  CLOSE_BRACKET,
  COLON,
  DOT,
  HASH,
  HYPHEN,
  isDigit,
  isLetter,
  isSpace,
  isWord,
  OPEN_BRACKET,
  QUESTION,
  SLASH,
} from "./characters.ts";

/** "with port": `host:5432`; "with path": the host is followed by `/`, `?` or `#`. */
export type HostBehind = "none" | "alone" | "with path" | "with port";

const MAX_PORT_DIGITS = 5;

export function hostBehind(characters: Characters, at: number): HostBehind {
  const end = endOfHost(characters, at + 1);
  if (end === undefined) return "none";
  const next = characters.code(end);
  if (next === SLASH || next === QUESTION || next === HASH) return "with path";
  return next === COLON && isPort(characters, end + 1) ? "with port" : "alone";
}

function endOfHost(characters: Characters, start: number): number | undefined {
  const first = characters.code(start);
  if (first === OPEN_BRACKET) return endOfIpv6(characters, start + 1);
  if (!isWord(first) && !isForeign(first)) return undefined;
  let index = start + 1;
  while (isHostCharacter(characters.code(index))) index += 1;
  return index;
}

function endOfIpv6(characters: Characters, start: number): number | undefined {
  let index = start;
  while (isIpv6Character(characters.code(index))) index += 1;
  return characters.code(index) === CLOSE_BRACKET && index > start ? index + 1 : undefined;
}

/** One to five digits, no more of a word behind them: `@sha256:9f86d0...` is no port. */
function isPort(characters: Characters, start: number): boolean {
  let index = start;
  while (index - start < MAX_PORT_DIGITS && isDigit(characters.code(index))) index += 1;
  return index > start && !isWord(characters.code(index));
}

function isHostCharacter(code: number): boolean {
  return isWord(code) || code === DOT || code === HYPHEN || isForeign(code);
}

/** Part of an internationalized name. */
function isForeign(code: number): boolean {
  return code >= 0x80 && !isSpace(code);
}

function isIpv6Character(code: number): boolean {
  return isDigit(code) || isLetter(code) || code === COLON || code === DOT;
}
