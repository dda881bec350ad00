/** How long the built doors take to import: the median of fresh processes, without Node's own start. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root, run } from "./lib.mjs";

const ROUNDS = 11;

for (const [name, file] of [
  ["intray", "index.mjs"],
  ["intray/queuebox", "queuebox.mjs"],
]) {
  const url = pathToFileURL(join(root, "dist", file)).href;
  const program = `const t = performance.now(); await import(${JSON.stringify(url)});
    console.log(performance.now() - t);`;
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    const args = ["--input-type=module", "--eval", program];
    const { code, output } = await run(process.execPath, args, { capture: true });
    if (code !== 0) throw new Error(output);
    times.push(Number(output));
  }
  times.sort((a, b) => a - b);
  console.log(`import of ${name}: ${times[Math.floor(ROUNDS / 2)].toFixed(1)} ms`);
}
