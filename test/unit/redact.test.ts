import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_ERROR_LENGTH, sanitize } from "../../src/redact.ts";

const MARKER = "...[truncated]";

test("undefined stays undefined, text without a secret stays as it is", () => {
  expect(sanitize(undefined)).toBeUndefined();
  expect(sanitize("")).toBe("");
  expect(sanitize("order 7: 3 rows, nate@example.com")).toBe("order 7: 3 rows, nate@example.com");
});

describe("the examples", () => {
  test("masked on purpose", () => {
    expect(sanitize("amqp://rabbit:5672 refused for nate@example.com")).toBe(
      "amqp://***@example.com",
    );
  });

  test.each([
    "amqp://rabbit:5672/vh failed for nate@example.com",
    "write to nate@example.com",
    "the token bucket is empty",
    "Digest authentication failed",
    "passwordless",
    "idempotency_key=a1 partition_key=b2 customer_key=c3 bypass=d4",
    "https://example.com/users/nate@example.com",
  ])("kept: %s", (text) => {
    expect(sanitize(text)).toBe(text);
  });
});

describe("the order: keys, URLs, bare schemes, the cut", () => {
  test("a key's value is masked before a URL is looked for", () => {
    expect(sanitize("https://token:abc@host/x")).toBe("https://token=[REDACTED]");
    expect(sanitize("password=postgres://u:p@h/db next")).toBe("password=[REDACTED] next");
  });

  test("a parameter's value is masked as a key's, then as a URL's", () => {
    expect(sanitize("https://h/p?token=a,b&x=1")).toBe("https://h/p?token=***&x=1");
    expect(sanitize("https://h/p?api_key=a&x=1")).toBe("https://h/p?api_key=[REDACTED]&x=1");
  });

  test("outside of a URL, a parameter is a key", () => {
    expect(sanitize("Server=db;Password=hunter2;Encrypt=true")).toBe(
      "Server=db;Password=[REDACTED];Encrypt=true",
    );
  });

  test("a scheme word behind a key belongs to the key's value", () => {
    expect(sanitize("Authorization: Bearer abc123, then Bearer abc123")).toBe(
      "Authorization=[REDACTED], then Bearer [REDACTED]",
    );
  });

  test("the cut is last: a secret across it is masked whole", () => {
    const text = `${"x".repeat(1975)} password=${"s3cr3t".repeat(10)} and so on`;
    expect(sanitize(text)).toBe(`${"x".repeat(1975)} password=[${MARKER}`);
    const url = `${"x".repeat(1970)} amqp://app:${"s3cr3t".repeat(10)}@h`;
    expect(sanitize(url)).toBe(`${"x".repeat(1970)} amqp://***@h`);
  });
});

describe("the cut", () => {
  test("to 2000 characters, the marker included", () => {
    expect(MAX_ERROR_LENGTH).toBe(2000);
    expect(sanitize("x".repeat(2000))).toBe("x".repeat(2000));
    expect(sanitize("x".repeat(2001))).toBe(`${"x".repeat(1986)}${MARKER}`);
  });

  test("what counts is the length after masking", () => {
    expect(sanitize(`token=${"x".repeat(5000)}`)).toBe("token=[REDACTED]");
  });

  test("a surrogate pair is not split", () => {
    expect(sanitize(`${"x".repeat(1985)}${"😀".repeat(20)}`)).toBe(`${"x".repeat(1985)}${MARKER}`);
    expect(sanitize(`${"x".repeat(1984)}${"😀".repeat(20)}`)).toBe(
      `${"x".repeat(1984)}😀${MARKER}`,
    );
  });

  test("no lone surrogate, whatever is cut or masked", { timeout: 60_000 }, () => {
    const part = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("😀", "token=", 'token="', "\\", "a://", "@", "Bearer ", "x".repeat(330)),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        const text = sanitize(parts.join(""));
        expect(text.length).toBeLessThanOrEqual(MAX_ERROR_LENGTH);
        expect(text).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });
});

describe("NUL characters", () => {
  test("are stripped, before the rules", () => {
    expect(sanitize("a\0b\0")).toBe("ab");
    expect(sanitize("pass\0word=hunter2")).toBe("password=[REDACTED]");
    expect(sanitize("token=abc\0def x")).toBe("token=[REDACTED] x");
  });

  test("do not count for the cut", () => {
    expect(sanitize(`${"x".repeat(2000)}\0\0\0`)).toBe("x".repeat(2000));
  });
});

describe("a secret in any of its places", () => {
  const secret = fc
    .tuple(fc.stringMatching(/^[A-Za-z]{4}$/), fc.stringMatching(/^[A-Za-z0-9]{4,30}$/))
    .map(([head, tail]) => `q${head}9${tail}7`);
  const place = fc.constantFrom<(secret: string) => string>(
    (s) => `password=${s}`,
    (s) => `"client_secret": "x ${s}, y"`,
    (s) => `pwd='${s}`,
    (s) => `Cookie: session ${s}`,
    (s) => `authorization=Bearer ${s}`,
    (s) => `Bearer ${s}`,
    (s) => `Basic ${s}==`,
    (s) => `amqp://app:${s}@rabbit:5672/vh`,
    (s) => `amqp://app:${s}/${s}@rabbit:5672/vh`,
    (s) => `amqp://app:${s} ${s}@rabbit:5672/vh`,
    (s) => `amqp://app:${s}@${s}@rabbit:5672/vh`,
    (s) => `https://host/path?page=1&token=${s}&x=1`,
    (s) => `https://host/path?page=1&token=a,${s}]${s}`,
    (s) => `AccountKey=${s}==;EndpointSuffix=x`,
  );
  const prose = fc
    .array(
      fc.constantFrom("failed", "for", "order 7,", "at", "(nate@example.com)", "x".repeat(300)),
      {
        maxLength: 12,
      },
    )
    .map((words) => words.join(" "));

  test("is never in the result, nor is a piece of it, even at the cut", { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(prose, place, secret, prose, fc.nat(2100), (before, put, hidden, behind, pad) => {
        const result = sanitize(`${"x".repeat(pad)} ${before} ${put(hidden)} ${behind}`);
        for (let start = 0; start + 6 <= hidden.length; start += 1) {
          expect(result).not.toContain(hidden.slice(start, start + 6));
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("redacting again changes nothing", () => {
    fc.assert(
      fc.property(place, secret, (put, hidden) => {
        const once = sanitize(`failed: ${put(hidden)}`);
        expect(sanitize(once)).toBe(once);
      }),
    );
  });
});
