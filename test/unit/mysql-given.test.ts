import { expect, test } from "vitest";
import { givenText } from "../../src/dialect/mysql/given.ts";

test("given rows have the place they were named in, and come in the order of their ids", () => {
  const text = givenText({ ids: ["10", "9"], tokens: ["t10", "t9"], attempts: ["1", "2"] });
  expect(JSON.parse(text)).toEqual([
    { id: "9", token: "t9", attempt: "2", place: 1 },
    { id: "10", token: "t10", attempt: "1", place: 0 },
  ]);
});

test("what a row does not have is left out, and never a null", () => {
  const text = givenText({ ids: ["1", "2"], reasons: [null, "late"] });
  expect(text).toBe('[{"id":"1","place":0},{"id":"2","reason":"late","place":1}]');
});

test("a statement without a list of ids is a mistake", () => {
  expect(() => givenText({ ids: "1" })).toThrow(TypeError);
});
