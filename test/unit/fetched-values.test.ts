import { afterEach, describe, expect, test } from "vitest";
import { decodeFetched } from "../../src/broker/fetched-values.ts";
import type { ColumnDescription } from "../../src/table/description.ts";

const sent: ColumnDescription = {
  property: "sent",
  name: "sent",
  type: "timestamp",
  nullable: false,
  generated: "never",
};
const zone = process.env["TZ"];

afterEach(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

describe("what an event has fetched", () => {
  test.each([
    "2026-12-01 06:39:19.657000",
    "2026-12-01T06:39:19.657",
    "2026-12-01T06:39:19.657Z",
    "2026-12-01 06:39:19.657+00",
    "2026-12-01 08:39:19.657+02",
  ])("66: a time means the same on every host: %s", (text) => {
    process.env["TZ"] = "America/New_York";
    expect(new Date("2026-12-01T00:00:00").getTimezoneOffset()).toBe(300);
    expect(decodeFetched(sent, text)).toEqual(new Date("2026-12-01T06:39:19.657Z"));
  });
});
