import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Characters } from "../../src/redact/characters.ts";
import { redactUrls } from "../../src/redact/urls.ts";

const redact = (text: string): string => redactUrls(new Characters(text));
const long = (length: number): string => "x".repeat(length);

describe("the user information becomes ***", () => {
  test.each([
    ["a host and port stay", "amqp://app:pw@rabbit:5672/vh", "amqp://***@rabbit:5672/vh"],
    ["a user alone", "redis://app@cache", "redis://***@cache"],
    ["one slash", "amqp:/app:pw@rabbit", "amqp:/***@rabbit"],
    ["an @ within", "amqp://app:p@s@s@rabbit:5672", "amqp://***@rabbit:5672"],
    ["no host behind", "amqp://app:pw@", "amqp://***@"],
    ["an odd host", "amqp://app:pw@$HOST/x", "amqp://***@$HOST/x"],
    ["an address", "amqp://app:pw@[::1]:5672", "amqp://***@[::1]:5672"],
    ["several hosts", "mongodb://u:p@h1:1,h2:2/db", "mongodb://***@h1:1,h2:2/db"],
    ["a nested scheme", "jdbc:postgresql://u:p@h/db", "jdbc:postgresql://***@h/db"],
    ["two URLs", "a://u:p@h/x b://u:p@h/y", "a://***@h/x b://***@h/y"],
    ["two URLs side by side", "a://h,b://u:p@h/y", "a://h,b://***@h/y"],
    ["in quotes", '"amqp://u:p@h"', '"amqp://***@h"'],
  ])("%s", (_, text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  test("a scheme is a letter and up to 31 of letters, digits, `+.-`", () => {
    expect(redact("a1+.-b://u@h")).toBe("a1+.-b://***@h");
    expect(redact("1a://u@h")).toBe("1a://***@h");
    expect(redact(`a${"1".repeat(31)}://u@h`)).toBe(`a${"1".repeat(31)}://***@h`);
    expect(redact(`a${"1".repeat(32)}://u@h`)).toBe(`a${"1".repeat(32)}://u@h`);
    expect(redact(`${long(100)}://u@h`)).toBe(`${long(100)}://***@h`);
  });

  test.each([
    "11://u@h",
    "://u@h",
    "//u@h",
    "mailto:nate@example.com",
    "nate@example.com",
    "a:u@h",
  ])("%s is no URL", (text) => {
    expect(redact(text)).toBe(text);
  });
});

describe("user information with slashes", () => {
  test.each([
    ["amqp://app:pa/ss@rabbit:5672/vh", "amqp://***@rabbit:5672/vh"],
    ["postgres://app:pa/ss@db/shop", "postgres://***@db/shop"],
    ["postgres://app:pa/ss@db", "postgres://***@db"],
    ["postgres://app:/pa@db/shop", "postgres://***@db/shop"],
    ["postgres://app:1a/2@db/shop", "postgres://***@db/shop"],
    ["postgres://app:12/34@db:5432/shop", "postgres://***@db:5432/shop"],
    ["postgres://app:12/34@db:65535", "postgres://***@db:65535"],
    ["postgres://app:p@ss/w@rd@db/shop", "postgres://***@db/shop"],
    ["postgres://app:p@s.s/word@db:5432", "postgres://***@db:5432"],
    ["postgres://ap[p/x@db/shop", "postgres://***@db/shop"],
  ])("%s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });
});

describe("a path that holds an @ is not user information", () => {
  test.each([
    "https://example.com/@nate/post",
    "https://example.com/users/nate@example.com",
    "https://example.com/users/nate@example.com/orders",
    "http://localhost:4873/@scope/pkg",
    "http://[::1]:4873/@scope/pkg",
    "https://cdn.example.com/lodash@4.17.21/lodash.js",
    "mongodb://h1:1,h2:2/a@b/c",
    "file:///srv/node_modules/@scope/pkg/index.js:10:5",
    "docker://registry:5000/image@sha256:0123456789abcdef",
    "docker://registry:5000/image@sha256:012345",
    "https://example.com?mail=nate@example.com",
    "https://example.com/#nate@example.com",
  ])("%s", (text) => {
    expect(redact(text)).toBe(text);
  });

  test("behind user information, either", () => {
    expect(redact("https://u:p@example.com/@scope/pkg")).toBe("https://***@example.com/@scope/pkg");
    expect(redact("https://u:p@host:80/a@b/c")).toBe("https://***@host:80/a@b/c");
    expect(redact("https://u:p@host/users/nate@example.com")).toBe(
      "https://***@host/users/nate@example.com",
    );
  });
});

describe("user information with white space", () => {
  test.each([
    [
      "masked on purpose",
      "amqp://rabbit:5672 refused for nate@example.com",
      "amqp://***@example.com",
    ],
    ["a space in a password", "amqp://app:pa ss@rabbit:5672/vh", "amqp://***@rabbit:5672/vh"],
    ["a slash, and a port", "amqp://app:p/a ss@rabbit:5672", "amqp://***@rabbit:5672"],
    ["a slash, and a path", "amqp://app:pa s/s@rabbit/vh", "amqp://***@rabbit/vh"],
    ["a slash, and a query", "amqp://app:p/a ss@rabbit?x", "amqp://***@rabbit?x"],
    ["a slash, and a fragment", "amqp://app:p/a ss@rabbit#x", "amqp://***@rabbit#x"],
    ["the last usable @", "amqp://app:pw@rabbit lost for a@b.c", "amqp://***@b.c"],
    ["200 before", `a://${long(200)} @h`, "a://***@h"],
    ["200 behind", `a:// ${long(200)}@h`, "a://***@h"],
    ["200 on both sides", `a://${long(200)} ${long(200)}@h`, "a://***@h"],
    ["a comma without space", "a://u:p,q r@h", "a://***@h"],
  ])("%s", (_, text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  test.each([
    ["a slash, and nothing behind the host", "amqp://rabbit:5672/vh failed for nate@example.com"],
    ["a slash, and a dot behind the host", "amqp://rabbit:5672/vh failed for nate@example.com."],
    ["no host", "amqp://rabbit is down @ noon"],
    ["a question mark", "amqp://rabbit down? ask nate@example.com"],
    ["a hash", "amqp://rabbit down #7 nate@example.com"],
    ["a comma and space", "amqp://rabbit down, ask nate@example.com"],
    ["another URL", "amqp://rabbit down for a://nate/"],
    ["201 before", `a://${long(201)} @h`],
    ["201 behind", `a:// ${long(201)}@h`],
  ])("kept: %s", (_, text) => {
    expect(redact(text)).toBe(text);
  });

  test("an @ between two spaces is found when the one further on is too far", () => {
    expect(redact(`a://u p@h ${long(201)}@i`)).toBe(`a://***@h ${long(201)}@i`);
  });
});

describe("secret parameters", () => {
  test.each([
    ["https://h/p?token=abc", "https://h/p?token=***"],
    ['https://h/p?x=1&PWD=a,b}]"c&y=2', "https://h/p?x=1&PWD=***&y=2"],
    [
      "jdbc:sqlserver://h:1433;user=sa;password=a&b",
      "jdbc:sqlserver://h:1433;user=sa;password=***&b",
    ],
    ["https://u:p@h/p?secret=a;b=c d", "https://***@h/p?secret=***;b=c d"],
    ["https://h/p?token=[REDACTED],b x", "https://h/p?token=*** x"],
    ["https://h/p?next=https://u:p@i/&token=x", "https://h/p?next=https://***@i/&token=***"],
  ])("%s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  test.each([
    "https://h/p?token=",
    "https://h/p?token=&x=1",
    "https://h/p?tokens=1",
    "https://h/p?my_token=1",
    "https://h/token=1",
    "https://h/p ?token=1",
    "a;token=1",
  ])("%s is kept by this rule", (text) => {
    expect(redact(text)).toBe(text);
  });
});

/** The rule for user information, said for each `@` by itself and without any thought of speed. */
function isUsable(text: string, start: number, at: number): boolean {
  const before = text.slice(start, at);
  if (/[?#]|:\/\/|,\s/.test(before)) return false;
  const host = /^(?:\[[0-9a-z:.]+\]|\w[\w.-]*)/i.exec(text.slice(at + 1))?.[0];
  const behind = text.slice(at + 1 + (host?.length ?? 0));
  const hasPort = host !== undefined && /^:\d{1,5}(?!\w)/.test(behind);
  const hasPath = host !== undefined && (hasPort || /^[/?#]/.test(behind));
  const slash = before.indexOf("/");

  if (/\s/.test(before)) {
    const near = [...before.matchAll(/\s/g)].some(
      ({ index }) => index <= 200 && before.length - index - 1 <= 200,
    );
    return near && host !== undefined && (slash < 0 || hasPath);
  }
  if (slash < 0) return true;
  const front = before.slice(0, slash);
  const authority = front.slice(front.lastIndexOf("@") + 1);
  if (!/^(?:[^:[]|\[[^\]]*\]|:\d+(?:,|$))*$/.test(authority)) return true;
  return front.includes("@") && !/[.:[]/.test(authority) ? hasPath : hasPort;
}

function redactSlowly(text: string): string {
  const scheme = /[a-z][a-z0-9+.-]{0,31}:\/\/?/gi;
  let result = "";
  let copied = 0;
  for (let match = scheme.exec(text); match !== null; match = scheme.exec(text)) {
    const start = scheme.lastIndex;
    const ats = [...text.matchAll(/@/g)].map(({ index }) => index);
    const at = ats.findLast((index) => index >= start && isUsable(text, start, index));
    if (at === undefined) continue;
    result += text.slice(copied, start) + (at > start ? "***" : "");
    copied = at;
    scheme.lastIndex = at;
  }
  return result + text.slice(copied);
}

test("the walk with its trails equals the rule applied to each @ by itself", {
  timeout: 60_000,
}, () => {
  const word = fc.constantFrom(
    ...[
      "a:/",
      "a://",
      "b1://",
      ":/",
      "://",
      "@",
      "@",
      "@",
      "u",
      "host",
      "h.x",
      "p:",
      ":",
      "/",
      "/",
    ],
    ...[
      ":80",
      ":5432/",
      "?",
      "#",
      ",",
      ", ",
      " ",
      " ",
      "\n",
      "[::1]",
      "[",
      "]",
      ".",
      "-",
      "_",
      "9",
    ],
    ...["x".repeat(99), "y".repeat(101), "z".repeat(150)],
  );
  const text = fc.array(word, { maxLength: 40 }).map((words) => `a://${words.join("")}`);
  fc.assert(
    fc.property(text, (sample) => {
      expect(redact(sample)).toBe(redactSlowly(sample));
    }),
    { numRuns: 5000 },
  );
});
