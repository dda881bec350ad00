import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { codeBlocks } from "../support/markdown.ts";
import { repository } from "../support/package.ts";

interface Snippet {
  /** Where it stands, for the test's name: `README.md:12`. */
  readonly place: string;
  /** The file that the compiler thinks it reads: beside the package, so that imports resolve. */
  readonly file: string;
  readonly code: string;
}

const options = snippetOptions();
const snippets = [...pages()].flatMap(snippetsOf);
const sources = new Map(snippets.map(({ file, code }) => [file, code]));
const program = ts.createProgram([...sources.keys()], options, hostWith(sources));

describe("every ts block of the README and the docs compiles", () => {
  test("there are some", () => {
    expect(snippets.length).toBeGreaterThan(0);
  });

  test.each(snippets.map(({ place, file }) => [place, file] as const))("%s", (_place, file) => {
    const source = program.getSourceFile(file);
    const problems = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    expect(problems.map(asText)).toEqual([]);
  });
});

/**
 * The package's own names lead to src (in tsconfig.json), so that the snippets hold for the code as it is, not
 * as it was built last. A block is a module of its own: one that goes on from another repeats its imports.
 */
function snippetOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(repository, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository);
  return {
    ...options,
    // What is written for its own file is no fault in a snippet.
    isolatedDeclarations: false,
    declaration: false,
    // A handler that returns nothing acknowledges.
    noImplicitReturns: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
}

function* pages(): Generator<string> {
  yield "README.md";
  const docs = join(repository, "docs");
  if (!existsSync(docs)) return;
  for (const name of readdirSync(docs, { recursive: true, encoding: "utf8" }).sort()) {
    if (name.endsWith(".md")) yield join("docs", name);
  }
}

function snippetsOf(page: string): Snippet[] {
  return codeBlocks(readFileSync(join(repository, page), "utf8"))
    .filter(({ language }) => /^ts\b/.test(language))
    .map(({ code, line }) => ({
      place: `${page}:${line}`,
      file: join(repository, `${page.replaceAll(/\W/g, "-")}-${line}.ts`),
      // Also a block without imports is a module: its names are its own, and it may await.
      code: `${code}\nexport {};\n`,
    }));
}

function hostWith(files: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  return {
    ...host,
    fileExists: (file) => files.has(file) || host.fileExists(file),
    readFile: (file) => files.get(file) ?? host.readFile(file),
    getSourceFile: (file, language, onError, again) => {
      const code = files.get(file);
      return code === undefined
        ? host.getSourceFile(file, language, onError, again)
        : ts.createSourceFile(file, code, language, true);
    },
  };
}

function asText({ messageText, file, start }: ts.Diagnostic): string {
  const text = ts.flattenDiagnosticMessageText(messageText, "\n");
  if (file === undefined || start === undefined) return text;
  const line = ts.getLineAndCharacterOfPosition(file, start).line + 1;
  return `line ${line} of the block: ${text}`;
}
