import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Characters } from "../../src/redact/characters.ts";
import { redactKeyValues } from "../../src/redact/key-values.ts";

const redact = (text: string): string => redactKeyValues(new Characters(text));

const NAMES = [
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "api-key",
  "apikey",
  "cookie",
  "set-cookie",
  "x-auth-token",
  "token",
  "access_token",
  "refresh_token",
  "client_secret",
  "secret",
  "password",
  "pwd",
  "passwd",
  "credential",
  "credentials",
  "passphrase",
  "private_key",
  "aws_secret_access_key",
  "account_key",
  "shared_access_key",
  "secret_key",
];

const gaps = (name: string): string[] =>
  ["-", "_", ".", ""].map((gap) => name.replaceAll(/[-_]/g, gap));

describe("a key that names a secret", () => {
  test.each(NAMES)("%s, with every gap, in any case, with `:` and `=`", (name) => {
    for (const spelling of gaps(name)) {
      for (const key of [spelling, spelling.toUpperCase(), `my_${spelling}`, `App2${spelling}`]) {
        expect(redact(`a ${key}=s3cr3t b`)).toBe(`a ${key}=[REDACTED] b`);
        expect(redact(`a ${key}: s3cr3t, b`)).toBe(`a ${key}=[REDACTED], b`);
      }
    }
  });

  test.each(["AccountKey", "SharedAccessKey", "awsSecretAccessKey"])("%s in camel case", (key) => {
    expect(redact(`Name=x;${key}=q83v+/==;Y=1`)).toBe(`Name=x;${key}=[REDACTED];Y=1`);
  });

  test("up to 64 letters, digits and underscores stand before the name, and more do no harm", () => {
    expect(redact(`${"a".repeat(64)}token=x`)).toBe(`${"a".repeat(64)}token=[REDACTED]`);
    expect(redact(`${"a".repeat(300)}token=x`)).toBe(`${"a".repeat(300)}token=[REDACTED]`);
  });

  test.each([
    "idempotency_key=abc",
    "partition_key: abc",
    "customer_key=abc",
    "bypass=abc",
    "access_key=abc",
    "key=abc",
    "public_key=abc",
    "passwordless=true",
    "passwordless: true",
    "tokens=5",
    "secretary: Ada",
    "token_count=5",
    "api--key=abc",
    "private key: abc",
    "password",
    "password is wrong",
    "token, then",
    "token ; x=1",
    "ſecret=abc",
  ])("%s is kept", (text) => {
    expect(redact(text)).toBe(text);
  });
});

describe("between the key and the value", () => {
  test.each([
    ['{"token":"abc"}', '{"token=[REDACTED]}'],
    ['"token" : "abc"', '"token=[REDACTED]'],
    ["token   =   abc", "token=[REDACTED]"],
    ["token\t:\n\tabc", "token=[REDACTED]"],
    ["token::abc", "token=[REDACTED]"],
    ["token==abc", "token=[REDACTED]"],
    ["token\u00a0=\u00a0abc", "token=[REDACTED]"],
    ["token:=abc", "token=[REDACTED]"],
    ["token=:abc", "token=[REDACTED]"],
  ])("%j -> %j", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  test.each(["'token'=abc", 'token""=abc', "token- =abc", 'token "=abc'])("%j is kept", (text) => {
    expect(redact(text)).toBe(text);
  });

  test.each([
    "token=",
    "token: ",
    "token=,x",
    "token:;x",
    "token=&x",
    "token: }",
    "token=]",
    "a=::=",
  ])("%j has no value", (text) => {
    expect(redact(text)).toBe(text);
  });
});

describe("a quoted value", () => {
  test.each([
    ['password="a b, c; d" e', "password=[REDACTED] e"],
    ["password='a b, c; d' e", "password=[REDACTED] e"],
    ['password="a\\"b\\\\" c', "password=[REDACTED] c"],
    ["password='a\\'b' c", "password=[REDACTED] c"],
    [`password="it's" c`, "password=[REDACTED] c"],
    ['password="" c', "password=[REDACTED] c"],
    ['password="open; x\nnext', "password=[REDACTED]\nnext"],
    ["password='open", "password=[REDACTED]"],
    ['password="', "password=[REDACTED]"],
    ['password="a\\', "password=[REDACTED]"],
    ['password="a\\\nnext', "password=[REDACTED]\nnext"],
    ['password: "a" b', "password=[REDACTED] b"],
  ])("%j -> %j", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });
});

describe("a bare value", () => {
  test.each([
    ...[",", ";", "}", "]", "&", "\n", '"'].flatMap((end): [string, string][] => [
      [`token: a b c${end}rest`, `token=[REDACTED]${end}rest`],
      [`token=abc${end}rest`, `token=[REDACTED]${end}rest`],
    ]),
    ["token=abc rest", "token=[REDACTED] rest"],
    ["token=abc\trest", "token=[REDACTED]\trest"],
    ["token: abc rest", "token=[REDACTED]"],
    ["authorization=Bearer abc rest", "authorization=[REDACTED] rest"],
    ["authorization=bAsIc \n abc rest", "authorization=[REDACTED] rest"],
    ["authorization: Bearer\n abc\nrest", "authorization=[REDACTED]\nrest"],
    ["authorization=Bearer", "authorization=[REDACTED]"],
    ["authorization=Bearer , rest", "authorization=[REDACTED] , rest"],
    ["authorization=Bearers abc", "authorization=[REDACTED] abc"],
    ["token=a'b", "token=[REDACTED]"],
    ["password=a;token=b;c=d", "password=[REDACTED];token=[REDACTED];c=d"],
    ["password: token=b, c", "password=[REDACTED], c"],
    ['password=token": b', 'password=[REDACTED]": b'],
  ])("%j -> %j", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  test("a marker within it is a part of it, so that redacting twice adds no bracket", () => {
    expect(redact("token=[REDACTED]")).toBe("token=[REDACTED]");
    expect(redact("[token=[REDACTED]]")).toBe("[token=[REDACTED]]");
    expect(redact("authorization: Bearer [REDACTED]; x")).toBe("authorization=[REDACTED]; x");
    expect(redact("token=[REDACTED]tail x")).toBe("token=[REDACTED] x");
  });
});

/**
 * The rule as one pattern. It is quadratic on hostile text and so only good for comparing; the
 * look-aheads `(?!:)`, `(?!=)` and `(?!\s)` keep it from giving up a separator to find a value.
 */
const names = NAMES.map((name) => name.replaceAll(/[-_]/g, "[-_.]?")).join("|");
const scheme = String.raw`(?:(?:basic|bearer|digest|negotiate|token)\s+(?!\s))?`;
const quoted = (quote: string): string =>
  String.raw`${quote}(?:\\[^\n]|[^${quote}\\\n]|\\(?=\n|$))*${quote}?`;
const value = (bare: string): string =>
  String.raw`\s*(?!\s)(?:${quoted('"')}|${quoted("'")}|${scheme}(?:\[REDACTED\]|${bare})+)`;
const PATTERN = new RegExp(
  String.raw`([a-z0-9_]{0,64}(?:${names})\b)"?\s*(?::+(?!:)${value(String.raw`[^,;}\]&\n"]`)}|=+(?!=)${value(String.raw`[^,;}\]&\n"\s]`)})`,
  "gi",
);

test("the walk equals the rule written as one pattern", { timeout: 60_000 }, () => {
  const word = fc.constantFrom(
    ...["token", "Password", "api", "key", "_", "-", ".", "secret", "Bearer", "basic", "x", "7"],
    ...[":", ":", "=", "=", '"', "'", "\\", "\n", " ", " ", "\t", ",", ";", "}", "]", "[", "&"],
    "[REDACTED]",
  );
  const text = fc.array(word, { maxLength: 24 }).map((words) => words.join(""));
  fc.assert(
    fc.property(text, (sample) => {
      expect(redact(sample)).toBe(sample.replaceAll(PATTERN, "$1=[REDACTED]"));
    }),
    { numRuns: 3000 },
  );
});
