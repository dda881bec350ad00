import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { codeBlocks } from "../support/markdown.ts";
import { repository } from "../support/package.ts";

/**
 * These pages' blocks say `typescript` and not `ts`: what they import is in this folder, and the test of
 * the other pages runs without it.
 */
const snippets = ["orms.md", "nestjs.md"].flatMap((page) =>
  codeBlocks(readFileSync(join(repository, "docs", page), "utf8"))
    .filter(({ language }) => language === "typescript")
    .map(({ code, line }) => ({
      place: `docs/${page}:${line}`,
      file: join(import.meta.dirname, `docs-${page.replace(/\W/g, "-")}-${line}.ts`),
      code: `${code}\nexport {};\n`,
    })),
);

const config = join(import.meta.dirname, "tsconfig.json");
const parsed = ts.parseJsonConfigFileContent(
  ts.readConfigFile(config, ts.sys.readFile).config,
  ts.sys,
  import.meta.dirname,
);
const source = (file: string) => [join(repository, "src", file)];
const options: ts.CompilerOptions = {
  ...parsed.options,
  noUnusedLocals: false,
  noUnusedParameters: false,
  paths: {
    "intray/queuebox": source("queuebox/index.ts"),
    "intray/nestjs": source("nestjs/index.ts"),
    "intray/*": source("integration/*.ts"),
  },
};
const sources = new Map(snippets.map(({ file, code }) => [file, code]));
const host = ts.createCompilerHost(options);
const program = ts.createProgram([...sources.keys(), ...parsed.fileNames], options, {
  ...host,
  fileExists: (file) => sources.has(file) || host.fileExists(file),
  readFile: (file) => sources.get(file) ?? host.readFile(file),
  getSourceFile: (file, language, onError, again) => {
    const code = sources.get(file);
    return code === undefined
      ? host.getSourceFile(file, language, onError, again)
      : ts.createSourceFile(file, code, language, true);
  },
});

function problemsIn(file: string): string[] {
  const found = program.getSourceFile(file);
  return [...program.getSyntacticDiagnostics(found), ...program.getSemanticDiagnostics(found)].map(
    ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"),
  );
}

test("there are some", () => {
  expect(snippets.length).toBeGreaterThan(6);
});

test.each(snippets.map(({ place, file }) => [place, file] as const))("%s compiles", (_, file) => {
  expect(problemsIn(file)).toEqual([]);
});

test("so do these tests, with the types that the ORMs and Nest have themselves", () => {
  expect(parsed.fileNames.flatMap(problemsIn)).toEqual([]);
}, 60_000);
