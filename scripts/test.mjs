/**
 * `npm test`: builds and packs once, runs every vitest project (the tarball is in INTRAY_TARBALL), and
 * checks the package. Arguments go to vitest, for one project or file: then the package is left out.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { committedTable, contractTable } from "./contract-table.mjs";
import { node, summary, tool, vitest, workFolder } from "./lib.mjs";
import { buildAndPack } from "./pack.mjs";

/** Bytes; a package that grows past it should do so on purpose. A dialect takes about 30,000. */
const LARGEST_TARBALL = 760_000;

const args = process.argv.slice(2);
const counts = args.length > 0 ? await vitest(args) : await everything();
console.log(`\n${summary(counts)}`);
process.exitCode = counts.failed === 0 ? 0 : 1;

async function everything() {
  const packed = await buildAndPack().catch((error) => {
    console.log(String(error));
    return undefined;
  });
  if (packed === undefined) return { passed: 0, failed: 1, skipped: 0 };

  let table;
  const total = await vitest([], { INTRAY_TARBALL: packed.path }, async (report) => {
    const committed = await committedTable();
    table = { committed, shown: contractTable(report, committed) };
  });
  for (const [name, check] of [...packageChecks(packed), tableCheck(table)]) {
    const { code, output } = await check();
    console.log(`${code === 0 ? "ok    " : "FAILED"} ${name}`);
    if (code !== 0) console.log(output);
    total[code === 0 ? "passed" : "failed"]++;
  }
  return total;
}

function packageChecks({ path, size, unpackedSize }) {
  const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;
  return [
    ["publint", () => node(tool("publint"), ["run", "--strict", path], { capture: true })],
    [
      // Its other profile asks for subpath exports under a resolution older than Node 20.
      "attw",
      () =>
        node(tool("@arethetypeswrong/cli", "attw"), [path, "--profile", "node16"], {
          capture: true,
        }),
    ],
    [
      `size: ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked`,
      async () => ({
        code: size <= LARGEST_TARBALL ? 0 : 1,
        output: `the tarball is larger than ${kilobytes(LARGEST_TARBALL)}`,
      }),
    ],
  ];
}

/** The docs' table says what this run has shown. */
function tableCheck(table) {
  const lines = (text) => new Set(text.split("\n"));
  return [
    "docs/contract-table.md",
    async () => {
      if (table === undefined) return { code: 1, output: "there was no report to compare it with" };
      const path = join(workFolder, "contract-table.md");
      await writeFile(path, table.shown);
      const committed = lines(table.committed);
      const differing = [...lines(table.shown)].filter((line) => !committed.has(line));
      return {
        code: table.committed === table.shown ? 0 : 1,
        output: `${path} has what this run shows, which node scripts/contract-table.mjs would write:\n${differing.join("\n")}`,
      };
    },
  ];
}
