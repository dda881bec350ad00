/** `npm run check`: format, lint, types with both TypeScripts, unit tests. Two at a time, in seconds. */
import { node, tool } from "./lib.mjs";

const steps = [
  ["format and lint", tool("@biomejs/biome", "biome"), ["check", "--error-on-warnings", "."]],
  ["types, TypeScript 6", tool("typescript", "tsc"), ["-p", "test/tsconfig.json"]],
  ["types, TypeScript 7", tool("typescript7", "tsc"), ["-p", "test/tsconfig.json"]],
  ["types of the examples", tool("typescript7", "tsc"), ["-p", "examples/tsconfig.json"]],
  ["declarations of src", tool("typescript7", "tsc"), ["-p", "tsconfig.json"]],
  ["unit tests", tool("vitest"), ["run", "--project", "unit"]],
];

let failed = 0;

async function next() {
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    const [name, script, args] = step;
    const { code, output, seconds } = await node(script, args, { capture: true });
    console.log(`${code === 0 ? "ok    " : "FAILED"} ${name} (${seconds.toFixed(1)} s)`);
    if (code === 0) continue;
    failed++;
    console.log(output);
  }
}

await Promise.all([next(), next()]);
process.exitCode = failed === 0 ? 0 : 1;
