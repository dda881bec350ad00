/**
 * `npm run bench -- b6 --quick`: a benchmark by name; without a name all of them, one after the other.
 * They are a workspace of their own, with packages the library never has.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { node, root, run, tool } from "./lib.mjs";

const folder = join(root, "bench");
const installed = join(folder, "node_modules", ".package-lock.json");
const lock = join(folder, "package-lock.json");
const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const known = Object.keys(scripts).filter((name) => /^b\d/.test(name));

const [first, ...rest] = process.argv.slice(2);
const named = first !== undefined && !first.startsWith("-");
if (named && !known.includes(first)) {
  console.error(`there is no benchmark "${first}"; there are ${known.join(", ")}`);
  process.exit(1);
}
const args = named ? rest : process.argv.slice(2);

await step(() => node(tool("tsdown"), ["--filter", "library", "--logLevel", "warn"]));
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  await step(() => run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder }));
}
for (const name of named ? [first] : known) {
  await step(() => run("npm", ["run", "--silent", name, "--", ...args], { cwd: folder }));
}

async function step(action) {
  const { code } = await action();
  if (code !== 0) process.exit(code);
}
