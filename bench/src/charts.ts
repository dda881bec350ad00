/** Draws the README's chart from `results/latest.json`. */
import { readFile, writeFile } from "node:fs/promises";
import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import type { PairedResult } from "./support/paired-rounds.ts";

interface Results {
  readonly b3: Readonly<Record<string, PairedResult>>;
  readonly b7: Readonly<Record<string, { readonly roundTrips: number; readonly ms: number }>>;
}

const OURS = "#0969da";
const OTHERS = "#8c959f";

const results: Results = JSON.parse(
  await readFile(new URL("../results/latest.json", import.meta.url), "utf8"),
);
const network = Object.entries(results.b7).map(([contender, { ms, roundTrips }]) => ({
  contender,
  ms: Math.round(ms * 10) / 10,
  roundTrips: Math.round(roundTrips * 100) / 100,
  isOurs: contender.startsWith("intray"),
}));
const ratios = Object.entries(results.b3).map(([concurrency, { ratio, low, high }]) => ({
  concurrency: `${concurrency} at once`,
  ratio,
  low,
  high,
}));

const spec: TopLevelSpec = {
  $schema: "https://vega.github.io/schema/vega-lite/v6.json",
  background: "white",
  hconcat: [
    {
      title: "Round trips a message (one insert, claims included)",
      width: 300,
      data: { values: network },
      encoding: {
        y: { field: "contender", type: "nominal", sort: null, title: null },
        x: { field: "roundTrips", type: "quantitative", title: "fewer is better" },
      },
      layer: [
        {
          mark: "bar",
          encoding: {
            color: {
              condition: { test: "datum.isOurs", value: OURS },
              value: OTHERS,
            },
          },
        },
        {
          mark: { type: "text", align: "left", dx: 4 },
          encoding: { text: { field: "roundTrips", type: "quantitative" } },
        },
      ],
    },
    {
      title: "Throughput against a hand-written loop (= 1)",
      width: 260,
      data: { values: ratios },
      encoding: {
        y: { field: "concurrency", type: "nominal", sort: null, title: null },
      },
      layer: [
        {
          mark: { type: "bar", color: OURS },
          encoding: {
            x: {
              field: "ratio",
              type: "quantitative",
              title: "median of rounds, and their spread",
            },
          },
        },
        {
          mark: { type: "rule", color: "black" },
          encoding: { x: { field: "low", type: "quantitative" }, x2: { field: "high" } },
        },
        { mark: { type: "rule", strokeDash: [4, 3] }, encoding: { x: { datum: 1 }, y: {} } },
      ],
    },
  ],
};

const view = new View(parse(compile(spec).spec), { renderer: "none" });
const file = new URL("../../docs/images/speed.svg", import.meta.url);
await writeFile(file, `${await view.toSVG()}\n`);
console.log("drew docs/images/speed.svg");
