import { describe, expect, onTestFinished, test } from "vitest";
import type { FormName } from "../../src/table/description.ts";
import { type OpenedForm, openForm, subscribe } from "../support/form-table.ts";
import { FaultyNetwork } from "../support/proxy.ts";
import { forEachTarget, type Open } from "../support/sources.ts";
import { until } from "../support/until.ts";

/** Long, so that nothing else on the wire (names of statements, ids) holds it by chance. */
const KEY = "the-message-under-test";

/** As it goes over the wire, and not the one in READ COMMITTED. */
const COMMITS: Readonly<Record<string, string | readonly string[]>> = {
  postgres: "COMMIT\0",
  // MySQL since 8.0.23 has the number of its attributes in between, where the driver knows of them.
  mysql: ["\x03COMMIT", "\x03\0\x01COMMIT"],
  sqlserver: "COMMIT TRANSACTION",
};

describe("a commit whose answer is lost", () => {
  forEachTarget({ connections: "many" }, ({ dialect }, open) => {
    const COMMIT = COMMITS[dialect.name] ?? "COMMIT";
    /** Whether anybody knows afterwards: by the transaction's own id, or by the lease that the row still has. */
    const tells = (form: FormName) => dialect.transactions !== undefined || form === "lease";

    test.each<FormName>(["rowLock", "lease", "advisoryLock"])(
      "F7, 65: %s: nothing is guessed: what took effect is told so where the database knows, and is done once",
      async (form) => {
        const { jobs, proxy, source } = await openBehindProxy(open, form);
        const [id] = await jobs.insert("a");
        const lost = proxy.lose("reply-cut", { mark: KEY, request: COMMIT });
        let calls = 0;
        const worker = subscribe(
          jobs,
          async ({ tx }) => {
            calls += 1;
            await tx.query(jobs.effect, [KEY]);
          },
          { source, transactional: true, slots: 1 },
        );
        await lost;
        const [said, told] = tells(form)
          ? (["commit_confirmed", [`claimed ${id}`, `settled ack ${id}`]] as const)
          : (["commit_unknown", [`claimed ${id}`, `returned lost ${id}`]] as const);
        await until(() => worker.told.length === told.length);
        await worker.stop();
        expect(calls).toBe(1);
        expect(await jobs.effects()).toEqual([KEY]);
        expect(await jobs.rows()).toEqual([]);
        expect(worker.logger.of(said)).toHaveLength(1);
        expect(worker.told).toEqual(told);
      },
    );

    test.each<FormName>(["rowLock", "lease", "advisoryLock"])(
      "F7, 65: %s: one that never reached the server is not taken for done, and there is one effect",
      async (form) => {
        const { jobs, proxy, source } = await openBehindProxy(open, form);
        const [id] = await jobs.insert("a");
        const lost = proxy.lose("request-cut", { mark: KEY, request: COMMIT });
        let calls = 0;
        const worker = subscribe(
          jobs,
          async ({ tx }) => {
            calls += 1;
            await tx.query(jobs.effect, [KEY]);
          },
          { source, transactional: true, slots: 1, onFailure: { kind: "retry" } },
        );
        await lost;
        await until(() => worker.told.includes(`settled ack ${id}`));
        await worker.stop();
        expect(calls).toBe(2);
        expect(await jobs.effects()).toEqual([KEY]);
        expect(await jobs.rows()).toEqual([]);
        expect(worker.logger.of("commit_unknown")).toHaveLength(tells(form) ? 0 : 1);
      },
    );

    test("S2: a lease settlement whose answer is lost is read back, and told as settled", async () => {
      const { jobs, proxy, source } = await openBehindProxy(open, "lease");
      const [id] = await jobs.insert("a");
      // What tells the settlement from the claim on the wire is the word that deletes.
      const mark = dialect.name === "sqlserver" ? "DELETE i" : "DELETE FROM";
      const lost = proxy.lose("reply-cut", { mark, request: "" });
      const worker = subscribe(jobs, () => {}, { source, prepare: false, slots: 1 });
      await lost;
      await until(() => worker.told.length === 2);
      await worker.stop();
      expect(worker.told).toEqual([`claimed ${id}`, `settled ack ${id}`]);
      expect(await jobs.rows()).toEqual([]);
    });
  });
});

async function openBehindProxy(open: Open, form: FormName) {
  const jobs: OpenedForm = await openForm(open, { form });
  if (jobs.url === undefined) throw new Error("no network reaches this one");
  const proxy = await FaultyNetwork.before(jobs.url);
  onTestFinished(async () => {
    proxy.resume();
    await proxy.close();
  });
  return { jobs, proxy, source: jobs.another({ max: 4, url: proxy.urlOf(jobs.url) }) };
}
