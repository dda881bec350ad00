/** What the contract's tests say in T-SQL, where no server hears it. */
import { describe, expect, test } from "vitest";
import { keyLocksOf } from "../support/key-locks.ts";
import { tsqlFaults } from "../support/tsql.ts";
import { wordsOf } from "../support/words.ts";

const { coarsen, later, now, other, rename, truth } = wordsOf("sqlserver");

describe("the words of tests on SQL Server have no faults", () => {
  test.each(
    Object.entries({
      rename: rename("jobs", "away"),
      coarsen: coarsen?.("jobs", "lease", 3) ?? "nothing",
      other: other ?? "nothing",
      "time passes": `SELECT ${truth(`${now} > ${later("CAST('2030-01-01' AS datetime2)", 1)}`)} AS is_over`,
    }),
  )("%s", (_what, text) => {
    expect(tsqlFaults(text, 0)).toEqual([]);
  });

  test("locks of keys are taken, and given back", async () => {
    const said: string[] = [];
    const session = {
      query: async (text: string) => {
        said.push(text);
        return { rows: [], rowCount: 0 };
      },
      begin: async () => {},
      commit: async () => {},
      rollback: async () => {},
      release: () => {},
    };
    const { query } = session;
    const locks = await keyLocksOf({ dialect: "sqlserver", query });
    await locks.take(session, "a");
    await locks.give(session, "a");
    expect(said).toHaveLength(2);
    for (const text of said) expect(tsqlFaults(text, 1)).toEqual([]);
  });
});
