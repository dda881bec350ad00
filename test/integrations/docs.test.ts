import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { codeBlocks } from "../support/markdown.ts";
import { repository } from "../support/package.ts";

/**
 * These pages' blocks say `typescript` and not `ts`: what they import is in this folder, and the test of
 * the other pages runs without it.
 */
const PAGES = ["orms", "nestjs"];
const FOLDER = join(import.meta.dirname, ".work", "docs");

const tsconfig = {
  extends: "../../tsconfig.json",
  compilerOptions: {
    noUnusedLocals: false,
    noUnusedParameters: false,
    paths: {
      intray: ["../../../../src/index.ts"],
      "intray/mysql2": ["../../../../src/driver/mysql2.ts"],
      "intray/queuebox": ["../../../../src/queuebox/index.ts"],
      "intray/nestjs": ["../../../../src/nestjs/index.ts"],
      "intray/*": ["../../../../src/integration/*.ts"],
    },
  },
  include: ["*.ts", "../../*.ts", "../../../support/global-setup.ts"],
  exclude: [],
};

test("the blocks of the docs compile, and these tests, with the types that the ORMs and Nest have", async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, "tsconfig.json"), JSON.stringify(tsconfig));
  let blocks = 0;
  for (const page of PAGES) {
    const text = await readFile(join(repository, "docs", `${page}.md`), "utf8");
    for (const { language, code, line } of codeBlocks(text)) {
      if (language !== "typescript") continue;
      blocks += 1;
      // In the file's name the line of the page, for whoever reads the compiler's answer.
      await writeFile(join(FOLDER, `${page}-${line}.ts`), `${code}\nexport {};\n`);
    }
  }
  expect(blocks).toBeGreaterThan(6);
  const tsc = join(repository, "node_modules", "typescript7", "bin", "tsc");
  const problems = await promisify(execFile)(process.execPath, [tsc, "-p", FOLDER]).then(
    () => "",
    (error: { stdout?: string }) => error.stdout ?? String(error),
  );
  expect(problems).toBe("");
}, 120_000);
