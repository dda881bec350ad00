import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import * as errors from "../../src/dialect/sqlserver/errors.ts";
import { begin } from "../../src/dialect/sqlserver/transactions.ts";
import { Delivery } from "../../src/engine/delivery.ts";
import type { HandlerFacade } from "../../src/form/handler-transaction.ts";
import { handleInTransaction } from "../../src/form/transactional-handling.ts";
import type { MssqlRequest } from "../support/mssql-pool.ts";
import { until } from "../support/until.ts";
import { mssql, openServer } from "./open-server.ts";
import type { Reply, Said } from "./tds-server.ts";
import type { Part } from "./tds-write.ts";

/** A handler in its transaction, as the lease form and the inbox run it; the server answers as it is told. */
async function handle(
  answer: (said: Said) => Reply | undefined,
  handler: (tx: HandlerFacade, timeOut: () => Promise<void>) => Promise<void>,
) {
  const connections: { request?: object; requestTimeout(): void }[] = [];
  const { pool, server, source } = await openServer({
    beforeConnect: (connection: (typeof connections)[number]) => connections.push(connection),
  });
  server.answer = answer;
  const settings = {
    source,
    errors,
    placeholder: (position: number) => `@p${position}`,
    begin: begin(undefined),
    prepare: true,
    clock: systemClock,
    patienceMs: 10_000,
  };
  const handling = await handleInTransaction(
    settings,
    new Delivery("row 1", null),
    {
      // What the driver's timer does when it is over: no test waits for 30 seconds.
      run: (tx) =>
        handler(tx, async () => {
          const busy = await until(() => connections.find(({ request }) => request !== undefined));
          busy.requestTimeout();
        }),
      completion: () => Promise.resolve([{ kind: "query", text: "DELETE row", params: [1] }]),
    },
    new AbortController().signal,
  );
  return { handling, pool, server, committed: server.committed };
}

function failing(text: string, ...reply: readonly Part[]) {
  return (said: Said) => (said.text.startsWith(text) ? reply : undefined);
}

describe("a handler's transaction", () => {
  test("commits what the handler wrote and its completion, together", async () => {
    const { committed, handling, pool, server } = await handle(
      () => undefined,
      async (tx) => {
        await tx.sql`INSERT a ${"x"}`;
        await (tx.client as { request(): MssqlRequest }).request().query("INSERT b");
      },
    );
    expect(handling).toMatchObject({ result: "completed" });
    expect(server.texts.map((text) => text.split(";")[0])).toEqual([
      "SET NOCOUNT OFF",
      "INSERT a @p1",
      "INSERT b",
      "DELETE row",
      "IF @@TRANCOUNT = 1 AND XACT_STATE() = 1 COMMIT TRANSACTION",
    ]);
    expect(committed).toBe(1);
    expect(pool.available).toBe(1);
  });

  test("a broken constraint that the handler caught is its own business", async () => {
    const { committed, handling } = await handle(
      failing("INSERT a", { error: 2627, severity: 14 }),
      async (tx) => {
        await tx.query("INSERT a").catch(() => undefined);
        await tx.query("INSERT b");
      },
    );
    expect(handling).toMatchObject({ result: "completed" });
    expect(committed).toBe(1);
  });

  test.each(["tx.query", "tx.client"] as const)(
    "a deadlock that the handler caught (%s) rolls back, and nothing runs outside of the transaction",
    async (way) => {
      const { committed, handling, pool, server } = await handle(
        failing("INSERT a", "rolled back", { error: 1205, severity: 13 }),
        async (tx) => {
          const run = (text: string) =>
            way === "tx.query"
              ? tx.query(text)
              : new mssql.Request(tx.client as object).query(text);
          await run("INSERT a").catch(() => undefined);
          await run("INSERT b").catch(() => undefined);
        },
      );
      expect(handling).toMatchObject({ result: way === "tx.query" ? "redelivery" : "failed" });
      expect(server.texts).not.toContain("INSERT b");
      expect(server.texts).not.toContain("DELETE row");
      expect(committed).toBe(0);
      expect(pool.available).toBe(1);
    },
  );

  test("a conversion that failed is the handler's failure, though it has rolled back", async () => {
    const { committed, handling } = await handle(
      failing("INSERT a", "rolled back", { error: 241 }),
      async (tx) => void (await tx.query("INSERT a").catch(() => undefined)),
    );
    expect(handling).toMatchObject({ result: "failed", error: { number: 241 } });
    expect(committed).toBe(0);
  });

  test("a statement that has no answer in time is a failure too, and its connection is closed", async () => {
    const { committed, handling, server } = await handle(
      ({ text }) => (text === "SELECT slow" ? "silence" : undefined),
      async (tx, timeOut) => {
        const slow = tx.query("SELECT slow").catch((error: unknown) => error);
        await timeOut();
        expect(await slow).toMatchObject({ code: "ETIMEOUT" });
      },
    );
    expect(handling).toMatchObject({ result: "failed" });
    expect(committed).toBe(0);
    await until(() => server.open.size === 0);
  });

  test("a commit that was not answered is nobody's guess", async () => {
    const { handling, server } = await handle(
      ({ text }) => (text.startsWith("IF @@TRANCOUNT = 1") ? "hang up" : undefined),
      async (tx) => void (await tx.query("INSERT a")),
    );
    expect(handling).toMatchObject({ result: "unknown" });
    await until(() => server.open.size === 0);
  });

  test("a commit that finds another transaction than its own is a failure", async () => {
    const { committed, handling, pool } = await handle(
      failing("IF @@TRANCOUNT = 1", "rolled back", { error: errors.THROWN.transactionOver }),
      async (tx) => void (await tx.query("EXEC leaves_a_transaction_open")),
    );
    expect(handling).toMatchObject({ result: "failed" });
    expect(committed).toBe(0);
    expect(pool.available).toBe(1);
  });
});
