/** What tests say to SQL Server by themselves, read by a grammar: no server is here to refuse it. */
import { expect, test } from "vitest";
import { SQLSERVER_DEAD } from "../support/dead-words.ts";
import { tsqlFaults } from "../support/tsql.ts";

test.each([
  ["a dead row", SQLSERVER_DEAD.insert, 6],
  ["many dead rows", SQLSERVER_DEAD.many(2500), 0],
  ["the keys of rows", SQLSERVER_DEAD.keys, 1],
])("%s is T-SQL", (_what, text, params) => {
  expect(tsqlFaults(text, params)).toEqual([]);
});
