import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

/** Built beside the command line, since Node 20 runs it on a thread of its own. */
const HOOKS = new URL("./cli-typescript.mjs", import.meta.url);

/** From now on `import` takes TypeScript. `isNeeded`: there is something to import that is. */
export async function readTypeScript(isNeeded: boolean): Promise<void> {
  if ("bun" in process.versions || "deno" in process.versions) return;
  // Run from its sources, whoever runs it reads TypeScript already.
  if (!existsSync(fileURLToPath(HOOKS))) return;
  const registerHooks: unknown = Reflect.get(module, "registerHooks");
  if (typeof registerHooks === "function") registerHooks(await import(HOOKS.href));
  else if (typeof module.register === "function") module.register(HOOKS.href);
  else if (isNeeded && !process.execArgv.includes(HOOKS.href)) runAgain();
}

/** Node before 20.6 takes hooks on its own command line alone; nothing has been opened yet. */
function runAgain(): never {
  const hooks = ["--no-warnings", "--loader", HOOKS.href];
  const { status } = spawnSync(
    process.execPath,
    [...process.execArgv, ...hooks, ...process.argv.slice(1)],
    { stdio: "inherit" },
  );
  process.exit(status ?? 1);
}
