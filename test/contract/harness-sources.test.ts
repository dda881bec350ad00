import { expect, test } from "vitest";
import { forEachSource } from "../support/sources.ts";

forEachSource({ connections: "one" }, (_name, open) => {
  test("each open gives an empty database, one connection to it works as promised", async () => {
    const { source, query } = await open();
    await query("CREATE TABLE things (id int)");
    const connection = await source.connect();
    try {
      await connection.begin();
      await connection.query("INSERT INTO things VALUES ($1::int)", [1]);
      await connection.commit();
      await connection.begin();
      await connection.query("INSERT INTO things VALUES ($1::int)", [2]);
      await connection.rollback();
    } finally {
      await connection.release();
    }
    expect((await query("SELECT id FROM things")).rows).toEqual([{ id: 1 }]);
  });

  test("the next open does not see the last one's tables", async () => {
    const { query } = await open();
    expect((await query("SELECT to_regclass('things') AS found")).rows).toEqual([{ found: null }]);
  });
});

forEachSource({ connections: "many" }, (_name, open) => {
  test("another source reaches the same database, beside an open transaction", async () => {
    const { source, query, another } = await open({ max: 2 });
    await query("CREATE TABLE things (id int)");
    const first = await source.connect();
    const second = await another({ max: 1 }).connect();
    try {
      await first.begin();
      await first.query("INSERT INTO things VALUES (1)");
      const seen = await second.query("SELECT count(*)::int AS things FROM things");
      expect(seen.rows).toEqual([{ things: 0 }]);
      await first.commit();
    } finally {
      await first.release();
      await second.release();
    }
    expect((await query("SELECT id FROM things")).rows).toEqual([{ id: 1 }]);
  });
});
