/**
 * A Rolldown plugin: what a bundle takes from node_modules keeps its licence. Writes the texts of all
 * bundled packages into one file beside the bundle.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Rolldown } from "tsdown";

const PACKAGE_FOLDER = /^\0?(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/;

export function bundledLicenses(fileName: string): Rolldown.Plugin {
  return {
    name: "bundled-licenses",
    async generateBundle(_options, bundle) {
      const folders = new Set<string>();
      for (const output of Object.values(bundle)) {
        for (const id of output.type === "chunk" ? output.moduleIds : []) {
          const folder = PACKAGE_FOLDER.exec(id)?.[1];
          if (folder !== undefined) folders.add(folder);
        }
      }
      const texts = await Promise.all([...folders].sort().map(licenceOf));
      this.emitFile({ type: "asset", fileName, source: texts.join(`\n${"-".repeat(80)}\n\n`) });
    },
  };
}

async function licenceOf(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(
    await readFile(join(folder, "package.json"), "utf8"),
  );
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} is bundled and has no licence file`);
  return `${name} ${version}, ${license}\n\n${await readFile(join(folder, file), "utf8")}`;
}
