import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redactBareSchemes } from "../../src/redact/bare-schemes.ts";
import { Characters } from "../../src/redact/characters.ts";

const redact = (text: string): string => redactBareSchemes(new Characters(text));

describe("credentials behind a scheme word", () => {
  test.each(["Basic", "Bearer", "Digest", "Negotiate", "Token"])("%s, in any case", (scheme) => {
    for (const word of [scheme, scheme.toLowerCase(), scheme.toUpperCase()]) {
      expect(redact(`401 for ${word} abc123 at once`)).toBe(`401 for ${word} [REDACTED] at once`);
    }
  });

  test.each([
    ["Bearer a1", "Bearer [REDACTED]"],
    ["Bearer abc=", "Bearer [REDACTED]"],
    ["Bearer abc== x", "Bearer [REDACTED] x"],
    ["Bearer abcdefghijklmnop", "Bearer [REDACTED]"],
    ["Bearer abc.d_e~f+g/h-1, x", "Bearer [REDACTED], x"],
    ["Bearer\t\n abc1", "Bearer\t\n [REDACTED]"],
    ["(bearer abc1)", "(bearer [REDACTED])"],
    ["token token abc1", "token token [REDACTED]"],
    ["Bearer a1 Bearer b2", "Bearer [REDACTED] Bearer [REDACTED]"],
  ])("%j -> %j", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  test.each([
    "the token bucket is empty",
    "Digest authentication failed",
    "Bearer abcdefghijklmno",
    "Bearers abc123",
    "mytoken abc123",
    "Bearerabc123",
    "Bearer",
    "Bearer ",
    "Bearer =abc",
    "Bearer !abc123",
    "Bearer [REDACTED]",
    "Other abc123",
  ])("%j is kept", (text) => {
    expect(redact(text)).toBe(text);
  });
});

test("the walk equals the rule written as one pattern", { timeout: 60_000 }, () => {
  const pattern =
    /\b(basic|bearer|digest|negotiate|token)(\s+)(?:(?=[\w.~+/-]*\d)[\w.~+/-]+=*|[\w.~+/-]+=+|[\w.~+/-]{16,})/gi;
  const word = fc.constantFrom(
    ...[
      "token",
      "Bearer",
      "basic",
      "digest",
      " ",
      " ",
      "\n",
      "=",
      "abc",
      "7",
      "-",
      "/",
      ".",
      ",",
      "é",
    ],
    "abcdefghijklmno",
  );
  const text = fc.array(word, { maxLength: 16 }).map((words) => words.join(""));
  fc.assert(
    fc.property(text, (sample) => {
      expect(redact(sample)).toBe(sample.replaceAll(pattern, "$1$2[REDACTED]"));
    }),
    { numRuns: 3000 },
  );
});
