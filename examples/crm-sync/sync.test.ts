import { postgresDialect } from "intray";
import { testBroker } from "intray/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { forEachSource, type Open } from "../../test/support/sources.ts";
import { FakeCrm } from "./fake-crm.ts";
import { subscribeSync } from "./sync.ts";
import { Changes, changesOf, everyCustomer, RefusedChanges } from "./tables.ts";

const plan = (value: string) => ({ field: "plan", value });

describe("the CRM sync", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    test("hands a change over, with its headers", async () => {
      const crm = new FakeCrm(() => false);
      await using sync = await start(open, crm);
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
      await sync.publish(changesOf("acme"), plan("team"), { headers: { traceparent } });
      expect(crm.taken).toEqual([{ customer: "acme", ...plan("team"), trace: traceparent }]);
    });

    test("keeps a customer's order while the CRM is busy, and nobody else waits", async () => {
      let isBusy = true;
      const crm = new FakeCrm((customer) => isBusy && customer === "acme");
      await using sync = await start(open, crm);
      await sync.publish(changesOf("acme"), plan("trial"));
      await sync.publish(changesOf("acme"), plan("team"));
      await sync.publish(changesOf("globex"), plan("basic"));
      expect(sync.messages(everyCustomer)).toEqual([plan("trial"), plan("basic")]);
      expect(crm.taken).toMatchObject([{ customer: "globex" }]);

      isBusy = false;
      await sync.advance("1s"); // as the CRM's retry-after said
      expect(crm.taken).toMatchObject([
        { customer: "globex", value: "basic" },
        { customer: "acme", value: "trial" },
        { customer: "acme", value: "team" },
      ]);
    });

    test("sets aside what the CRM refuses, and goes on", async () => {
      const crm = new FakeCrm(() => false);
      await using sync = await start(open, crm);
      await sync.publish(changesOf("acme"), { field: "phone", value: "ask Bob" });
      await sync.publish(changesOf("acme"), plan("team"));
      expect(crm.taken).toMatchObject([{ value: "team" }]);
      expect(await sync.query("SELECT customer, reason FROM crm_changes_refused")).toEqual([
        { customer: "acme", reason: "the CRM answered 422: no phone number" },
      ]);
    });
  });
});

async function start(open: Open, crm: FakeCrm) {
  const { query, source } = await open();
  for (const statement of [...Changes.ddl("postgres"), ...RefusedChanges.ddl("postgres")]) {
    await query(statement);
  }
  const url = await crm.start();
  onTestFinished(() => crm.stop());
  const options = { dialect: postgresDialect };
  const broker = await testBroker(source, (to) => subscribeSync(to, url), options);
  return { ...broker, query: async (text: string) => (await query(text)).rows };
}
