/** What the scripts share: running a tool, and counting what vitest reports. */
import { spawn } from "node:child_process";
import { mkdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const workFolder = join(root, ".work");

const require = createRequire(import.meta.url);

/** The path of a tool's script: `tool("vitest")`. TypeScript is here twice, so the path says which. */
export function tool(name, bin = name) {
  const path = join(root, "node_modules", name, "package.json");
  const declared = require(path).bin;
  return join(dirname(path), typeof declared === "string" ? declared : declared[bin]);
}

/** Runs a Node script from the repository's root. `capture` keeps its output instead of showing it. */
export async function node(script, args = [], { capture = false, env = {} } = {}) {
  return await run(process.execPath, [script, ...args], { capture, env });
}

export async function run(command, args, { capture = false, env = {}, cwd = root } = {}) {
  const started = performance.now();
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["inherit", capture ? "pipe" : "inherit", capture ? "pipe" : "inherit"],
  });
  let output = "";
  child.stdout?.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    output += chunk;
  });
  const code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status, signal) => resolve(status ?? (signal === null ? 1 : 128)));
  });
  return { code, output, seconds: (performance.now() - started) / 1000 };
}

/**
 * Runs vitest and counts; `look` gets the report too. An error outside any test, such as an unhandled rejection, counts
 * as failed.
 */
export async function vitest(args, env = {}, look = undefined) {
  await mkdir(workFolder, { recursive: true });
  const report = join(workFolder, `vitest-${process.pid}.json`);
  await rm(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { code } = await node(tool("vitest"), ["run", ...args, ...reporters], { env });
  const read = await readFile(report, "utf8").then(JSON.parse, () => undefined);
  await rm(report, { force: true });
  const { failures, ...counts } =
    read === undefined ? { passed: 0, failed: 0, skipped: 0, failures: [] } : countTests(read);
  if (read !== undefined) await look?.(read);
  if (code !== 0 && counts.failed === 0) {
    counts.failed = 1;
    failures.push("vitest: an error outside any test");
  }
  if (failures.length > 0) console.log();
  for (const failure of failures) console.log(`FAILED ${failure}`);
  return counts;
}

function countTests(report) {
  // A file that does not load has failed without a test.
  const broken = report.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  );
  const failed = report.testResults.flatMap((file) =>
    file.assertionResults
      .filter((test) => test.status === "failed")
      .map((test) => `${relative(root, file.name)}: ${test.fullName}`),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: [...broken.map((file) => `${relative(root, file.name)} as a whole`), ...failed],
  };
}

export function summary({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
