/**
 * Builds the package and packs it into .work/. As a script it prints the tarball's path: that is how
 * tests that need it get it when they run alone.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { node, run, tool, workFolder } from "./lib.mjs";

/** @returns {Promise<{ path: string, size: number, unpackedSize: number }>} */
export async function buildAndPack() {
  const build = await node(tool("tsdown"), ["--logLevel", "warn"], { capture: true });
  if (build.code !== 0) throw new Error(`the build failed:\n${build.output}`);

  const folder = join(workFolder, "package");
  await mkdir(folder, { recursive: true });
  for (const file of await readdir(folder)) await rm(join(folder, file));
  const args = ["pack", "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination"];
  const pack = await run("npm", [...args, folder], { capture: true });
  if (pack.code !== 0) throw new Error(`npm pack failed:\n${pack.output}`);
  const [{ filename, size, unpackedSize }] = JSON.parse(pack.output);
  return { path: join(folder, filename), size, unpackedSize };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  console.log((await buildAndPack()).path);
}
