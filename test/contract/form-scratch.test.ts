import { describe, expect, test } from "vitest";
import { EFFECT, openForm, subscribe } from "../support/form-table.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { WatchedSource } from "../support/work-inbox.ts";
describe("scratch", () => {
  forEachSource({ connections: "many" }, (name, open) => {
    if (name !== "postgres") { test.skip("x", () => {}); return; }
    test.each(Array.from({length: 70}, (_, n) => n))("%i", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      await jobs.query("INSERT INTO jobs (pay) SELECT n FROM generate_series(1, 200) AS n");
      const t0 = performance.now();
      const log = (...x: unknown[]) => lines.push([Math.round(performance.now() - t0), ...x].join(" "));
      const lines: string[] = [];
      const inner = jobs.source;
      let n = 0;
      const open2 = new Map<number, string>();
      const source = { max: 5, async connect(signal?: AbortSignal) {
        const id = ++n; open2.set(id, "connecting");
        let c;
        try { c = await inner.connect(signal); } catch (e) { open2.delete(id); log("connect failed", id, e); throw e; }
        open2.set(id, "open");
        const wrap = (what: string, f: (...a: never[]) => Promise<unknown>) => async (...a: never[]) => {
          open2.set(id, what); 
          try { const r = await f(...a); open2.set(id, what + " ok"); return r; } catch (e) { open2.set(id, what + " failed " + e); log(id, what, "failed", e); throw e; }
        };
        return { query: wrap("query", c.query.bind(c) as never), begin: c.begin.bind(c), commit: c.commit.bind(c), rollback: wrap("rollback", c.rollback.bind(c) as never), destroysOnError: true,
          guardClient: c.guardClient?.bind(c), pipeline: wrap("pipeline", c.pipeline?.bind(c) as never),
          async release(e?: Error) { open2.set(id, "releasing " + e); await c.release(e); open2.delete(id); if (e) log("released", id, e) } } as never;
      } };
      const worker = subscribe(jobs, async ({ texts: [text], tx }) => { await tx.query(EFFECT, [text]); },
        { source: source as never, transactional: true, onFailure: { kind: "retry" } });
      for (const left of [140, 70]) {
        await until(async () => (await jobs.rows()).length <= left);
        const r = await jobs.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'test'`);
        log("killed", r.rowCount);
      }
      await until(async () => (await jobs.rows()).length === 0);
      await worker.stop();
      log("stopped");
      if (performance.now() - t0 > 5000 || open2.size > 0) console.log(lines.join("\n"), [...open2]);
      expect(open2.size).toBe(0);
      expect(new Set(await jobs.effects()).size).toBe(200);
    });
  });
});
void WatchedSource;
