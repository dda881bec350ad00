import type pg from "pg";
import { Broker } from "../../../dist/index.mjs";
import { fromPg } from "../../../dist/pg.mjs";
import { DrainMeter } from "./drain-meter.ts";
import type { Contender } from "./paired-rounds.ts";
import { type Form, fillTable, LEFT, QUEUE, tables } from "./queue-tables.ts";

export interface DrainSettings {
  readonly form: Form;
  readonly rows: number;
  readonly slots: number;
  /** Rows that one handler call takes; left out: one, and no list. */
  readonly batch?: number;
  readonly prefetch?: number;
}

/** The library through its broker, on a pool of its own. */
export function brokerContender(name: string, pool: pg.Pool, settings: DrainSettings): Contender {
  const { batch, form, prefetch, rows, slots } = settings;
  return {
    name,
    prepare: () => fillTable(pool, form, rows),
    async run() {
      const meter = new DrainMeter(pool, LEFT, rows);
      const errors: unknown[] = [];
      const logger = { info() {}, warn: keep, error: keep };
      function keep(message: string, fields?: unknown) {
        errors.push({ message, fields });
      }
      const broker = new Broker(fromPg(pool), { logger });
      const queue = tables[form].queue(QUEUE);
      const options = { workers: slots, ...(prefetch !== undefined && { prefetch }) };
      if (batch === undefined) broker.subscribe(queue, options, () => meter.handle());
      else {
        broker.subscribe(queue, { ...options, batch }, (messages) => meter.handle(messages.length));
      }
      await broker.start();
      const ms = await meter.drained();
      await broker.stop();
      if (errors.length > 0)
        throw new Error(`the drain was not clean: ${JSON.stringify(errors[0])}`);
      return ms;
    },
  };
}
