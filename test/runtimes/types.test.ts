import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeProject, type Project, repository, tarball } from "../support/package.ts";

const modules = join(repository, "node_modules");

/** A user's own settings, stricter than most: the declarations themselves are checked too. */
const tsconfig = {
  compilerOptions: {
    target: "es2022",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    typeRoots: [join(modules, "@types")],
    types: ["node"],
  },
  include: ["*.mts", "*.cts"],
};

const doors = [
  "",
  "/queuebox",
  "/pg",
  "/postgres",
  "/pglite",
  "/mysql2",
  "/mariadb",
  "/mssql",
  "/better-sqlite3",
  "/node-sqlite",
  "/bun-sqlite",
];
const program = doors
  .map(
    (door, index) => `import * as door${index} from "intray${door}";\nexport { door${index} };\n`,
  )
  .join("");

let project: Project;

beforeAll(async () => {
  project = await makeProject([await tarball()]);
  await writeFile(join(project.folder, "tsconfig.json"), JSON.stringify(tsconfig));
  await writeFile(join(project.folder, "program.mts"), program);
  await writeFile(join(project.folder, "program.cts"), program);
}, 120_000);

afterAll(() => project?.remove());

describe("the packed types compile where no driver is installed", () => {
  test.each([
    ["TypeScript 6", "typescript"],
    ["TypeScript 7", "typescript7"],
  ])(
    "%s",
    async (_name, compiler) => {
      const tsc = join(modules, compiler, "bin", "tsc");
      const problems = await promisify(execFile)(process.execPath, [
        tsc,
        "-p",
        project.folder,
      ]).then(
        () => "",
        (error: { stdout?: string }) => error.stdout ?? String(error),
      );
      expect(problems).toBe("");
    },
    180_000,
  );
});
