/**
 * The redaction is linear on any text. No clock decides: the passes count the characters they read,
 * and the count must grow with the text and stay under a fixed number for each character.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redact } from "../../src/redact/sanitize.ts";

/** The worst of the families below takes 27 for a character, over all three passes. */
const MAX_VISITS_PER_CHARACTER = 40;

function visits(text: string): number {
  let sum = 0;
  redact(text, (count) => {
    sum += count;
  });
  return sum;
}

/** Whole pieces only: half a piece at the end may decide how all the others are read. */
const repeat = (piece: string, length: number): string =>
  piece.repeat(Math.ceil(length / piece.length));

const PIECES: readonly string[] = [
  ...[
    "a",
    " ",
    "\n",
    "@",
    "/",
    ":",
    "=",
    "://",
    "@@ ",
    "@a",
    "@a.b:80",
    "@[",
    "@[:",
    '"',
    "'",
    "\\",
  ],
  ...[
    "a:/",
    "a://",
    "a:/ ",
    "a:/@",
    "a:/b@c",
    "a:/@ ",
    "a:/ @",
    "a:/b c@d ",
    "a:/b/c@d:80 ",
    "a:///",
  ],
  ...["a:b/", "a:/b:", "a:/[", "a:/b:c/", "a:/x@y/", "a:/x@y/z@", "a:/1:2,", "a://x y@z/ ", "a:/,"],
  ...["a:/, @b", "a:/? @b", "a:/# @b", "a:/;token=", "a:/?pwd=b", "?token=", "1:/", "9".repeat(40)],
  ...[
    `${"1".repeat(31)}:/`,
    `a${"+".repeat(31)}:/`,
    `a:/${" ".repeat(199)}@`,
    `a:/${"b".repeat(400)} @c`,
  ],
  ...["token", "token ", "token:", "token=", "token::", "token==", 'token"', "token=,", "token: ;"],
  ...[
    'token="',
    'token="\\',
    "token='\\'",
    "token=Bearer ",
    "token:Bearer\n",
    "token = \n",
    "token=[",
  ],
  ...[
    "token=[REDACTED]",
    "password_",
    "api",
    "api-",
    "aws_secret_access_",
    "key=",
    "_key=",
    "-key:",
  ],
  ...[
    "Bearer ",
    "Bearer a ",
    "Bearer abcdefghijklmno ",
    "Basic =",
    "Basic \n",
    "basic/",
    "Token~~ ",
  ],
  ...["😀", "\ud800", "é@é:80 ", "\u00a0", "\0"],
];

/** Texts of about `length` characters that a walk with a quadratic look-ahead or look-back dislikes. */
const FAMILIES: readonly [string, (length: number) => string][] = [
  ...PIECES.map((piece): [string, (length: number) => string] => [
    `${JSON.stringify(piece.slice(0, 24))} repeated`,
    (length) => repeat(piece, length),
  ]),
  ...PIECES.map((piece): [string, (length: number) => string] => [
    `a:/ many times, then ${JSON.stringify(piece.slice(0, 24))} many times`,
    (length) => repeat("a:/", length / 2) + repeat(piece, length / 2),
  ]),
  ["a:/ many times, one @ at the end", (length) => `${repeat("a:/", length)}@b`],
  ["a:/ many times, one spaced @ at the end", (length) => `${repeat("a:/", length)} x@b:80`],
  ["one URL with a long host", (length) => `a://b@${repeat("c", length)}`],
  ["one open quote", (length) => `token="${repeat("c ", length)}`],
  [
    "white space around an @",
    (length) => `a://b${repeat(" ", length / 2)}@${repeat(" ", length / 2)}`,
  ],
  ["white space behind a key", (length) => `token${repeat(" ", length)}`],
  ["white space behind each of two signs", (length) => `token:${repeat(" ", length)}token=`],
  ["a key of any length", (length) => `${repeat("my_", length)}token=x`],
  ["a scheme of any length", (length) => `${repeat("abc", length)}://u@h`],
];

describe("twice the text takes about twice the reading", () => {
  test.each(FAMILIES)("%s", (_, family) => {
    const long = family(12_000);
    const once = visits(family(6_000));
    const twice = visits(long);
    expect(twice).toBeLessThanOrEqual(2.2 * once + 1000);
    expect(twice).toBeLessThanOrEqual(MAX_VISITS_PER_CHARACTER * long.length + 1000);
  });

  test("a megabyte of the worst", { timeout: 60_000 }, () => {
    const text = repeat("a:/", 1_000_000);
    expect(visits(text)).toBeLessThanOrEqual(MAX_VISITS_PER_CHARACTER * text.length);
  });

  test("random mixtures", { timeout: 60_000 }, () => {
    const mixture = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 5 });
    const sections = fc.array(mixture, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(sections, (pieces) => {
        const text = pieces.map((section) => repeat(section.join(""), 2000)).join("");
        expect(visits(text)).toBeLessThanOrEqual(MAX_VISITS_PER_CHARACTER * text.length + 1000);
      }),
      { numRuns: 300 },
    );
  });
});
