import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * A package that the user may or may not have: its default export, or all of it where it has none.
 * Undefined where it is not installed.
 *
 * @throws what the package throws while it loads.
 */
export async function loadModule(name: string): Promise<unknown> {
  const path = findModule(name);
  if (path === undefined) return undefined;
  const module: unknown = await import(pathToFileURL(path).href);
  return typeof module === "object" && module !== null && "default" in module
    ? module.default
    : module;
}

/**
 * The file of a package: from where intray is installed, else from the project in the working folder
 * (npx and global installs put intray elsewhere).
 */
export function findModule(name: string): string | undefined {
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), "package.json")).href]) {
    try {
      return createRequire(from).resolve(name);
    } catch {
      // Not there, or an ESM package that says nothing to require.
    }
  }
  return undefined;
}
