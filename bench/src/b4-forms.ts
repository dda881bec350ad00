/**
 * B4: every form, one row a handler call and sixteen, 1, 4 and 8 slots, against a hand-written loop of as
 * many tasks with the same statements. `--quick` for a minute's worth, `--form "row lock"` for one form.
 */
import pg from "pg";
import { compare, interleavedRounds, type PairedResult } from "./support/paired-rounds.ts";
import { brokerContender, type DrainSettings } from "./support/queue-contenders.ts";
import { loopContender } from "./support/queue-loops.ts";
import { type Form, tables } from "./support/queue-tables.ts";
import { told } from "./support/report.ts";
import { withBenchDatabase } from "./support/server.ts";

const isQuick = process.argv.includes("--quick");
const rounds = 5;
const one = process.argv.includes("--form")
  ? process.argv.at(process.argv.indexOf("--form") + 1)
  : undefined;
const forms = Object.keys(tables).filter((form) => one === undefined || form === one);
const BATCH = 16;

/** Fewer where a row takes longer: so that a cell takes about a minute. */
function rowsOf(form: Form, batch: number): number {
  const rows = batch === 1 ? 5_000 : 10_000;
  if (isQuick) return batch === 1 ? 150 : 600;
  return form === "advisory lock" ? (2 / 5) * rows : rows;
}

await withBenchDatabase(async ({ save, url, version }) => {
  console.log(`B4: ${rounds} rounds a cell, of the loop's rate; ${version}`);
  for (const form of forms as Form[]) {
    for (const batch of [1, BATCH]) {
      for (const slots of [1, 4, 8]) {
        const settings = { form, rows: rowsOf(form, batch), slots, ...(batch > 1 && { batch }) };
        const cell = await measured(url, settings, async (result) => {
          const cells = {
            [`batch ${batch}`]: { [`slots ${slots}`]: { ...result, rows: settings.rows } },
          };
          await save({ b4: { [form]: cells } });
        });
        console.log(
          `  ${form.padEnd(13)} batch ${batch}, ${slots} slots: ${told(cell, "the loop")}`,
        );
      }
    }
  }
  return {};
});

async function measured(
  url: string,
  settings: DrainSettings,
  save: (result: PairedResult) => Promise<void>,
): Promise<PairedResult> {
  const pool = new pg.Pool({ connectionString: url, max: settings.slots + 4 });
  try {
    const contenders = [
      brokerContender("intray", pool, settings),
      loopContender("hand-written loop", pool, settings),
    ];
    const rates = await interleavedRounds(contenders, settings.rows, rounds, async (soFar) => {
      await save(compare(soFar, "intray", "hand-written loop"));
    });
    return compare(rates, "intray", "hand-written loop");
  } finally {
    await pool.end();
  }
}
