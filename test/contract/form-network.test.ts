import { describe, expect, onTestFinished, test } from "vitest";
import type { FormName } from "../../src/table/description.ts";
import { EFFECT, type OpenedForm, openForm, subscribe } from "../support/form-table.ts";
import { FaultyNetwork } from "../support/proxy.ts";
import { forEachSource, type Open, type SourceName } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { connectAs } from "./processes/connect.ts";

/** Long, so that nothing else on the wire (names of statements, ids) holds it by chance. */
const KEY = "the-message-under-test";

/** As it goes over the wire, and not the one in READ COMMITTED. */
const COMMIT = "COMMIT\0";

describe("a commit whose answer is lost", () => {
  forEachSource({ connections: "many" }, (name, open) => {
    test.each<FormName>(["rowLock", "lease", "advisoryLock"])(
      "F7, 65: %s: the transaction's own id tells that it took effect",
      async (form) => {
        const { jobs, proxy, source } = await openBehindProxy(name, open, form);
        const [id] = await jobs.insert("a");
        const lost = proxy.lose("reply-cut", { mark: KEY, request: COMMIT });
        let calls = 0;
        const worker = subscribe(
          jobs,
          async ({ tx }) => {
            calls += 1;
            await tx.query(EFFECT, [KEY]);
          },
          { source, transactional: true, slots: 1 },
        );
        await lost;
        await until(() => worker.told.includes(`settled ack ${id}`));
        await worker.stop();
        expect(calls).toBe(1);
        expect(await jobs.effects()).toEqual([KEY]);
        expect(await jobs.rows()).toEqual([]);
        expect(worker.logger.of("commit_confirmed")).toHaveLength(1);
        expect(worker.told).toEqual([`claimed ${id}`, `settled ack ${id}`]);
      },
    );

    test.each<FormName>(["rowLock", "lease", "advisoryLock"])(
      "F7, 65: %s: one that never reached the server is not taken for done, and there is one effect",
      async (form) => {
        const { jobs, proxy, source } = await openBehindProxy(name, open, form);
        const [id] = await jobs.insert("a");
        const lost = proxy.lose("request-cut", { mark: KEY, request: COMMIT });
        let calls = 0;
        const worker = subscribe(
          jobs,
          async ({ tx }) => {
            calls += 1;
            await tx.query(EFFECT, [KEY]);
          },
          { source, transactional: true, slots: 1, onFailure: { kind: "retry" } },
        );
        await lost;
        await until(() => worker.told.includes(`settled ack ${id}`));
        await worker.stop();
        expect(calls).toBe(2);
        expect(await jobs.effects()).toEqual([KEY]);
        expect(await jobs.rows()).toEqual([]);
        expect(worker.logger.of("commit_unknown")).toEqual([]);
      },
    );

    test("S2: a lease settlement whose answer is lost is read back, and told as settled", async () => {
      const { jobs, proxy, source } = await openBehindProxy(name, open, "lease");
      const [id] = await jobs.insert("a");
      // What tells the settlement from the claim on the wire is the word that deletes.
      const lost = proxy.lose("reply-cut", { mark: "DELETE FROM", request: "" });
      const worker = subscribe(jobs, () => {}, { source, prepare: false, slots: 1 });
      await lost;
      await until(() => worker.told.length === 2);
      await worker.stop();
      expect(worker.told).toEqual([`claimed ${id}`, `settled ack ${id}`]);
      expect(await jobs.rows()).toEqual([]);
    });
  });
});

async function openBehindProxy(name: SourceName, open: Open, form: FormName) {
  const jobs: OpenedForm = await openForm(open, { form });
  if (jobs.url === undefined || name === "pglite") throw new Error("no network reaches this one");
  const proxy = await FaultyNetwork.before(jobs.url);
  const { source, end } = connectAs(name, proxy.urlOf(jobs.url), 4);
  onTestFinished(async () => {
    proxy.resume();
    await end();
    await proxy.close();
  });
  return { jobs, proxy, source };
}
