import { describe, expect, test } from "vitest";
import type { FormName } from "../../src/table/description.ts";
import { openForm, subscribe } from "../support/form-table.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

interface Conn {
  query(text: string, params?: readonly unknown[]): Promise<unknown>;
}

const EFFECT_OF = "INSERT INTO effects (what) VALUES ($1::text)";

describe("settlement events of the service's own", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    test.each<FormName>(["rowLock", "lease", "advisoryLock"])(
      "66: %s: each replaces the dialect's statement, in the transaction that the library commits",
      async (form) => {
        const jobs = await openForm(open, {
          form,
          custom: {
            ack: async (conn: Conn, id: bigint) => {
              await conn.query("DELETE FROM jobs WHERE id = $1::bigint", [String(id)]);
              await conn.query(EFFECT_OF, [`ack ${typeof id}`]);
            },
            discard: {
              postgres: async (conn: Conn, id: bigint) => {
                await conn.query("DELETE FROM jobs WHERE id = $1::bigint", [String(id)]);
                await conn.query(EFFECT_OF, ["discard"]);
              },
            },
            retryAfter: async (conn: Conn, id: bigint, delayMs: number) => {
              const sql =
                "UPDATE jobs SET due = now() + interval '1 hour', lease = NULL WHERE id = $1::bigint";
              await conn.query(sql, [String(id)]);
              await conn.query(EFFECT_OF, [`later ${delayMs}`]);
            },
            deadLetter: async (conn: Conn, id: bigint, to: { table: string; group: string }) => {
              await conn.query(`UPDATE ${to.table} SET grp = $2::text WHERE id = $1::bigint`, [
                String(id),
                to.group,
              ]);
              await conn.query(EFFECT_OF, ["dead"]);
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

    test.each<FormName>(["rowLock", "advisoryLock"])(
      "67: %s: one that throws rolls back, and the error names it",
      async (form) => {
        let calls = 0;
        const jobs = await openForm(open, {
          form,
          custom: {
            ack: async (conn: Conn, id: bigint) => {
              calls += 1;
              await conn.query(EFFECT_OF, [`${calls}`]);
              await conn.query("DELETE FROM jobs WHERE id = $1::bigint", [String(id)]);
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

  forEachSource({ connections: "many" }, (_name, open) => {
    test.each<FormName>(["lease"])(
      "67: %s: one that throws rolls back, and the error names it",
      async (form) => {
        let calls = 0;
        const jobs = await openForm(open, {
          form,
          custom: {
            ack: async (conn: Conn, id: bigint) => {
              calls += 1;
              await conn.query(EFFECT_OF, [`${calls}`]);
              await conn.query("DELETE FROM jobs WHERE id = $1::bigint", [String(id)]);
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
        await jobs.query("UPDATE jobs SET att = 9, lease = now() + interval '1 hour'");
      });
      await until(() => worker.told.includes(`returned lost ${id}`));
      await worker.stop();
      expect(calls).toBe(0);
    });
  });
});
