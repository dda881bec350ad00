import { expect, test } from "vitest";
import { createDatabase, describeOn } from "../support/databases.ts";

describeOn("postgres", "the harness: databases", () => {
  test("a database of its own, empty, and gone after drop", async () => {
    const first = await createDatabase();
    const second = await createDatabase();
    try {
      await first.query("CREATE TABLE things (id int); INSERT INTO things VALUES (1)");
      expect((await first.query("SELECT id FROM things WHERE id = $1", [1])).rows).toEqual([
        { id: 1 },
      ]);
      expect((await second.query("SELECT to_regclass('things') AS found")).rows).toEqual([
        { found: null },
      ]);
    } finally {
      await first.drop();
    }
    const left = await second.query("SELECT 1 FROM pg_database WHERE datname = $1", [
      new URL(first.url).pathname.slice(1),
    ]);
    await second.drop();
    expect(left.rowCount).toBe(0);
  });
});
