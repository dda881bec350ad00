import { describe, expect, test } from "vitest";
import type { FormName } from "../../src/table/description.ts";
import { eventWordsOf } from "../support/event-words.ts";
import { openForm, subscribe } from "../support/form-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

interface Conn {
  query(text: string, params?: readonly unknown[]): Promise<unknown>;
}

describe("settlement events of the service's own", () => {
  forEachTarget({ connections: "one" }, ({ dialect }, open) => {
    const { effect, later, now } = wordsOf(dialect.name);
    const { value } = eventWordsOf(dialect.name);
    const byId = `WHERE id = ${value("bigint", 1)}`;

    test.each<FormName>(dialect.features.forms)(
      "66: %s: each replaces the dialect's statement, in the transaction that the library commits",
      async (form) => {
        const jobs = await openForm(open, {
          form,
          custom: {
            ack: async (conn: Conn, id: bigint) => {
              await conn.query(`DELETE FROM jobs ${byId}`, [String(id)]);
              await conn.query(effect, [`ack ${typeof id}`]);
            },
            discard: {
              [dialect.name]: async (conn: Conn, id: bigint) => {
                await conn.query(`DELETE FROM jobs ${byId}`, [String(id)]);
                await conn.query(effect, ["discard"]);
              },
            },
            retryAfter: async (conn: Conn, id: bigint, delayMs: number) => {
              const sql = `UPDATE jobs SET due = ${later(now, 3_600_000)}, lease = NULL ${byId}`;
              await conn.query(sql, [String(id)]);
              await conn.query(effect, [`later ${delayMs}`]);
            },
            deadLetter: async (conn: Conn, id: bigint, to: { table: string; group: string }) => {
              await conn.query(
                `UPDATE ${to.table} SET grp = ${value("text", 1)} WHERE id = ${value("bigint", 2)}`,
                [to.group, String(id)],
              );
              await conn.query(effect, ["dead"]);
            },
          },
        });
        await jobs.insert("ack", "drop", "later", "dead");
        const worker = subscribe(jobs, ({ texts: [text] }) => {
          switch (text) {
            case "later":
              return { kind: "retryAfter", delayMs: 1234 };
            case "dead":
              return { kind: "deadLetter" };
            case "drop":
              return { kind: "drop" };
            default:
              return undefined;
          }
        });
        await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 4);
        await worker.stop();
        expect((await jobs.effects()).toSorted()).toEqual([
          "ack bigint",
          "dead",
          "discard",
          "later 1234",
        ]);
        expect(await jobs.rows()).toMatchObject([
          { text: "later", isDue: false },
          { text: "dead", group: "dead" },
        ]);
      },
    );

    test.each<FormName>(dialect.features.forms.filter((form) => form !== "lease"))(
      "67: %s: one that throws rolls back, and the error names it",
      async (form) => {
        let calls = 0;
        const jobs = await openForm(open, {
          form,
          custom: {
            ack: async (conn: Conn, id: bigint) => {
              calls += 1;
              await conn.query(effect, [`${calls}`]);
              await conn.query(`DELETE FROM jobs ${byId}`, [String(id)]);
              throw new Error("no");
            },
          },
        });
        const [id] = await jobs.insert("a");
        const worker = subscribe(jobs, () => {}, { leaseMs: 500 });
        await until(() => worker.told.includes(`returned failed ${id}`));
        await worker.stop();
        expect(await jobs.effects()).toEqual([]);
        expect(await jobs.rows()).toMatchObject([{ id }]);
        expect(String(worker.logger.of("settlement_failed")[0]?.fields.error)).toMatch(
          /the event "ack" of jobs failed/,
        );
      },
    );
  });

  forEachTarget({ connections: "one writer" }, ({ dialect }, open) => {
    const { effect, later, now } = wordsOf(dialect.name);
    const byId = `WHERE id = ${eventWordsOf(dialect.name).value("bigint", 1)}`;

    test.each<FormName>(["lease"])(
      "67: %s: one that throws rolls back, and the error names it",
      async (form) => {
        let calls = 0;
        const jobs = await openForm(open, {
          form,
          custom: {
            ack: async (conn: Conn, id: bigint) => {
              calls += 1;
              await conn.query(effect, [`${calls}`]);
              await conn.query(`DELETE FROM jobs ${byId}`, [String(id)]);
              throw new Error("no");
            },
          },
        });
        const [id] = await jobs.insert("a");
        const worker = subscribe(jobs, () => {}, { leaseMs: 500 });
        await until(() => worker.told.includes(`returned failed ${id}`));
        await worker.stop();
        expect(await jobs.effects()).toEqual([]);
        expect(await jobs.rows()).toMatchObject([{ id }]);
        expect(String(worker.logger.of("settlement_failed")[0]?.fields.error)).toMatch(
          /the event "ack" of jobs failed/,
        );
      },
    );

    test("66: in the lease form one runs only where the lease was confirmed", async () => {
      let calls = 0;
      const jobs = await openForm(open, {
        form: "lease",
        custom: {
          ack: async () => {
            calls += 1;
          },
        },
      });
      const [id] = await jobs.insert("a");
      const worker = subscribe(jobs, async () => {
        await jobs.query(`UPDATE jobs SET att = 9, lease = ${later(now, 3_600_000)}`);
      });
      await until(() => worker.told.includes(`returned lost ${id}`));
      await worker.stop();
      expect(calls).toBe(0);
    });
  });
});
