import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { PayloadError, type PayloadOf } from "../../src/queuebox/index.ts";
import { type InboxRow, type PayloadOption, readMessage } from "../../src/queuebox/message.ts";

function row(changes: Partial<InboxRow> = {}): InboxRow {
  return {
    id: "1",
    source: "orders",
    idempotencyKey: "k",
    aggregateId: null,
    eventType: null,
    correlationId: null,
    payload: "{}",
    headers: "{}",
    attempt: 0,
    wasExpired: false,
    ...changes,
  };
}

async function payloadOf(payload: string, option?: PayloadOption): Promise<unknown> {
  return (await readMessage(row({ payload }), option)).payload;
}

async function headersOf(headers: string | null): Promise<unknown> {
  return (await readMessage(row({ headers }), undefined)).headers;
}

describe("reading a message", () => {
  test("JSON of every kind is delivered as what it is, a string as that string", async () => {
    expect(await payloadOf('{"a":[1,null,true]}')).toEqual({ a: [1, null, true] });
    expect(await payloadOf('"123"')).toBe("123");
    expect(await payloadOf('"{\\"a\\":1}"')).toBe('{"a":1}');
    expect(await payloadOf("123")).toBe(123);
    expect(await payloadOf("null")).toBeNull();
    expect(await payloadOf("false", "json")).toBe(false);
  });

  test("D2: as text a payload keeps every digit; parsed it has JavaScript's numbers", async () => {
    const text = '{"id": 9007199254740993, "much": 1e400, "zero": -0, "a": 1, "a": 2}';
    expect(await payloadOf(text, "text")).toBe(text);
    expect(await payloadOf(text)).toEqual({ id: 9007199254740992, much: Infinity, zero: -0, a: 2 });
  });

  test("D2: nesting 5,000 deep is read", async () => {
    const text = `${"[".repeat(5000)}${"]".repeat(5000)}`;
    expect(Array.isArray(await payloadOf(text))).toBe(true);
  });

  test("a key __proto__ is a key like any other", async () => {
    const payload = await payloadOf('{"__proto__": {"admin": true}}');
    expect(Reflect.get(Object(payload), "admin")).toBeUndefined();
    const headers = await headersOf('{"__proto__": "x"}');
    expect(Object.keys(Object(headers))).toEqual(["__proto__"]);
  });

  test("text that is no JSON fails with a PayloadError that quotes none of it", async () => {
    const attempt = payloadOf("card=4111111111111111");
    await expect(attempt).rejects.toThrow(PayloadError);
    await expect(attempt).rejects.toThrow("the payload is no JSON (21 characters)");
    const error: unknown = await attempt.catch((thrown: unknown) => thrown);
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
    expect(cause).not.toContain("4111");
  });

  test("headers are texts; numbers and truth values become them, null ones are left out", async () => {
    expect(await headersOf('{"a": "1", "b": 2.5, "c": true, "d": null, "": ""}')).toEqual({
      a: "1",
      b: "2.5",
      c: "true",
      "": "",
    });
    expect(await headersOf(null)).toEqual({});
    expect(await headersOf("null")).toEqual({});
  });

  test.each(["[]", '"x"', "5", "true", '{"a": {}}', '{"a": ["x"]}', "{", ""])(
    "headers %s fail with a PayloadError",
    async (headers) => {
      await expect(headersOf(headers)).rejects.toThrow(PayloadError);
      await expect(headersOf(headers)).rejects.toThrow(/^the headers are no /);
    },
  );

  test("a Standard Schema's output is the payload, awaited where it is async", async () => {
    const order = z.object({ total: z.string().transform(Number) });
    expect(await payloadOf('{"total": "12.5"}', order)).toEqual({ total: 12.5 });
    const later = z.number().refine(async (n) => n > 1);
    expect(await payloadOf("2", later)).toBe(2);
    await expect(payloadOf("1", later)).rejects.toThrow(PayloadError);
  });

  test("what the schema refuses fails with a PayloadError that names the paths", async () => {
    const order = z.object({ lines: z.array(z.object({ sku: z.string() })) });
    const attempt = payloadOf('{"lines": [{"sku": 5}]}', order);
    await expect(attempt).rejects.toThrow(PayloadError);
    await expect(attempt).rejects.toThrow(/the payload does not fit its schema: lines\.0\.sku: /);
  });

  test("a payload's type is what the option makes of it", () => {
    const order = z.object({ total: z.string().transform(Number) });
    expectTypeOf<PayloadOf<undefined>>().toEqualTypeOf<unknown>();
    expectTypeOf<PayloadOf<"json">>().toEqualTypeOf<unknown>();
    expectTypeOf<PayloadOf<"text">>().toEqualTypeOf<string>();
    expectTypeOf<PayloadOf<typeof order>>().toEqualTypeOf<{ total: number }>();
  });
});
