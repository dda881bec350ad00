import { describe, expect, test } from "vitest";
import { describeTable } from "../support/described-table.ts";
import { type SubscribeOptions, subscribe, type TestHandler } from "../support/form-table.ts";
import { until } from "../support/until.ts";
import { openServer } from "./open-server.ts";
import type { Reply, Said } from "./tds-server.ts";

const table = describeTable({
  name: "jobs",
  columns: {
    id: ["bigint", "id"],
    grp: ["text", "group"],
    due: ["timestamp", "retryAfter"],
    att: ["integer", "attempt"],
    pay: ["text", "payload"],
  },
});

const COLUMNS = {
  id: "nvarchar",
  token: "nvarchar",
  attempt: "nvarchar",
  group: "nvarchar",
  key: "nvarchar",
  c0: "nvarchar",
} as const;

function row(attempt: number): Reply {
  return [{ columns: COLUMNS, rows: [["1", null, String(attempt), "a", null, "x"]] }];
}

/** A row that is claimed once; `taken`: as it is when it is taken again. */
async function work(
  handler: TestHandler,
  { failing, taken }: { failing: Reply; taken: Reply },
  options: SubscribeOptions = {},
) {
  const { server, source } = await openServer();
  let claims = 0;
  const told = (said: Said) =>
    isTake(said) ? "take" : isClaim(said) ? "claim" : said.text.split(/[\s;]/)[0];
  server.answer = (said) => {
    if (isTake(said)) return taken;
    if (isClaim(said)) return claims++ === 0 ? row(1) : [{ columns: COLUMNS, rows: [] }];
    if (said.text === "INSERT a") return failing;
    if (said.text.includes("UPDATE i")) return [{ columns: { id: "nvarchar" }, rows: [["1"]] }];
    return undefined;
  };
  const worker = subscribe({ dialect: "sqlserver", source, table }, handler, {
    transactional: true,
    slots: 1,
    pollIntervalMs: 3_600_000,
    ...options,
  });
  await until(() => worker.told.length > 1);
  await worker.stop();
  return { worker, server, said: server.said.map(told) };
}

function isClaim({ text }: Said): boolean {
  return text.includes("@candidate");
}

function isTake({ text }: Said): boolean {
  return text.includes("sp_getapplock") && !text.includes("@candidate");
}

const CONVERSION = ["rolled back", { error: 241 }] as const;

describe("a handler's error that ended the transaction of a row lock", () => {
  test.each(["thrown", "caught"])(
    "27, 51: a conversion that failed is a failed attempt: the row is taken again, and settled by the policy (%s)",
    async (way) => {
      const { said, server, worker } = await work(
        async ({ tx }) => {
          await tx.query("INSERT a").catch((error: unknown) => {
            if (way === "thrown") throw error;
          });
        },
        { failing: CONVERSION, taken: row(1) },
      );
      expect(worker.told).toEqual(["claimed 1", "settled retryAfter 1"]);
      expect(worker.failures).toMatchObject([{ number: 241 }]);
      expect(worker.logger.of("redelivered")).toEqual([]);
      expect(server.committed).toBe(1);
      const from = said.indexOf("take");
      expect(server.texts.slice(from - 1, from)).toEqual([
        expect.stringMatching(/BEGIN TRANSACTION$/),
      ]);
      expect(server.texts.slice(from + 1, from + 3)).toEqual([
        "SAVE TRANSACTION intray_handler",
        "ROLLBACK TRANSACTION intray_handler",
      ]);
    },
  );

  test("27: a row that has been changed since is left as it is", async () => {
    const { server, worker } = await work(({ tx }) => tx.query("INSERT a"), {
      failing: CONVERSION,
      taken: row(2),
    });
    expect(worker.told).toEqual(["claimed 1", "returned failed 1"]);
    expect(worker.logger.of("redelivered")).toMatchObject([
      { fields: { error: expect.stringContaining("error 241") } },
    ]);
    expect(server.texts.some((text) => text.includes("UPDATE i"))).toBe(false);
    expect(server.committed).toBe(0);
  });

  test("27: where the row cannot be taken again it comes again, and its session is given back or closed", async () => {
    const deadlock = await work(({ tx }) => tx.query("INSERT a"), {
      failing: CONVERSION,
      taken: ["rolled back", { error: 1205, severity: 13 }],
    });
    expect(deadlock.worker.told).toEqual(["claimed 1", "returned failed 1"]);
    expect(deadlock.server.committed).toBe(0);
    const gone = await work(({ tx }) => tx.query("INSERT a"), {
      failing: CONVERSION,
      taken: "hang up",
    });
    expect(gone.worker.told).toEqual(["claimed 1", "returned failed 1"]);
    await until(() => gone.server.open.size === 0);
  });

  test("27: a deadlock is a redelivery, and the row is not taken again", async () => {
    const { said, worker } = await work(({ tx }) => tx.query("INSERT a"), {
      failing: ["rolled back", { error: 1205, severity: 13 }],
      taken: row(1),
    });
    expect(worker.told).toEqual(["claimed 1", "returned failed 1"]);
    expect(worker.logger.of("redelivered")).toHaveLength(1);
    expect(said).not.toContain("take");
  });
});
