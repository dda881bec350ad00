/** Draws the READMEs' charts from `results/latest.json`. */
import { readFile, writeFile } from "node:fs/promises";
import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import type { PairedResult } from "./support/paired-rounds.ts";

interface Results {
  readonly b4: Readonly<
    Record<string, Readonly<Record<string, Readonly<Record<string, PairedResult>>>>>
  >;
  readonly b5: { readonly waiters: Readonly<Record<string, { readonly p50: number }>> };
  readonly b3: Readonly<Record<string, PairedResult>>;
  readonly b7: Readonly<Record<string, { readonly roundTrips: number; readonly ms: number }>>;
}

interface Bar {
  readonly contender: string;
  readonly value: number;
  readonly isOurs: boolean;
}

interface Ratio {
  readonly what: string;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

const OURS = "#0969da";
const OTHERS = "#8c959f";

const results: Results = JSON.parse(
  await readFile(new URL("../results/latest.json", import.meta.url), "utf8"),
);
const rounded = (value: number) => Math.round(value * 100) / 100;

const network = Object.entries(results.b7).map(([contender, { roundTrips }]) => ({
  contender,
  value: rounded(roundTrips),
  isOurs: contender.startsWith("intray"),
}));
const ratios = Object.entries(results.b3).map(([concurrency, { ratio, low, high }]) => ({
  what: `${concurrency} at once`,
  ratio,
  low,
  high,
}));
const drains = Object.entries(results.b4).flatMap(([form, cells]) =>
  Object.entries(cells["batch 1"] ?? {}).map(([slots, { ratio, low, high }]) => ({
    what: `${form}, ${slots}`,
    ratio,
    low,
    high,
  })),
);
const waits = Object.entries(results.b5.waiters).flatMap(([contender, { p50 }]) =>
  contender.includes("polling")
    ? []
    : [{ contender, value: rounded(p50), isOurs: contender.startsWith("intray") }],
);

const inbox: TopLevelSpec = {
  $schema: "https://vega.github.io/schema/vega-lite/v6.json",
  background: "white",
  hconcat: [
    barPanel("Round trips a message (one insert, claims included)", network),
    ratioPanel("Throughput against a hand-written loop (= 1)", ratios),
  ],
};

const queues: TopLevelSpec = {
  $schema: "https://vega.github.io/schema/vega-lite/v6.json",
  background: "white",
  hconcat: [
    ratioPanel("Drain against a hand-written loop (= 1), one row a call", drains),
    barPanel("From commit to handler: median, ms", waits),
  ],
};

function barPanel(title: string, values: readonly Bar[]) {
  return {
    title,
    width: 300,
    data: { values: [...values] },
    encoding: {
      y: { field: "contender", type: "nominal", sort: null, title: null },
      x: { field: "value", type: "quantitative", title: "less is better" },
    },
    layer: [
      {
        mark: "bar",
        encoding: {
          color: { condition: { test: "datum.isOurs", value: OURS }, value: OTHERS },
        },
      },
      {
        mark: { type: "text", align: "left", dx: 4 },
        encoding: { text: { field: "value", type: "quantitative" } },
      },
    ],
  } as const;
}

function ratioPanel(title: string, values: readonly Ratio[]) {
  return {
    title,
    width: 260,
    data: { values: [...values] },
    encoding: { y: { field: "what", type: "nominal", sort: null, title: null } },
    layer: [
      {
        mark: { type: "bar", color: OURS },
        encoding: {
          x: { field: "ratio", type: "quantitative", title: "median of rounds, and their spread" },
        },
      },
      {
        mark: { type: "rule", color: "black" },
        encoding: { x: { field: "low", type: "quantitative" }, x2: { field: "high" } },
      },
      { mark: { type: "rule", strokeDash: [4, 3] }, encoding: { x: { datum: 1 }, y: null } },
    ],
  } as const;
}

await draw("speed", inbox);
await draw("queues", queues);

async function draw(name: string, spec: TopLevelSpec): Promise<void> {
  const view = new View(parse(compile(spec).spec), { renderer: "none" });
  const file = new URL(`../../docs/images/${name}.svg`, import.meta.url);
  await writeFile(file, `${await view.toSVG()}\n`);
  console.log(`drew docs/images/${name}.svg`);
}
