import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { beforeAll, describe, expect, test } from "vitest";
import { sentences } from "../../src/table/sentences.ts";
import { repository } from "../support/package.ts";

/**
 * Every file of `test/types/refused` breaks one rule. Above each line at fault a comment says what the
 * compiler must say there; nothing else may fail.
 */
const folder = join(repository, "test", "types");
const refused = readdirSync(join(folder, "refused")).sort();
const valid = readdirSync(join(folder, "valid")).sort();

interface Fault {
  readonly line: number;
  readonly text: string;
}

describe.each([
  ["TypeScript 6", "typescript"],
  ["TypeScript 7", "typescript7"],
])("described tables in %s", (_, compiler) => {
  let faults: ReadonlyMap<string, readonly Fault[]>;

  beforeAll(async () => {
    faults = await compiled(compiler);
  }, 120_000);

  test.each(refused)("B: %s is refused in the rule's own words", (file) => {
    const expected = expectations(readFileSync(join(folder, "refused", file), "utf8"));
    const found = faults.get(`refused/${file}`) ?? [];
    expect(expected.length).toBeGreaterThan(0);
    expect(found.map(({ line }) => line)).toEqual(expected.map(({ line }) => line));
    for (const [index, { text }] of expected.entries()) {
      expect(found[index]?.text).toContain(text);
    }
  });

  test.each(valid)("1, 5: %s compiles", (file) => {
    expect(faults.get(`valid/${file}`) ?? []).toEqual([]);
  });

  test("nothing but the fixtures fails", () => {
    const others = [...faults.keys()].filter((file) => !/^(refused|valid)\//.test(file));
    expect(others).toEqual([]);
  });
});

test("B: every sentence that a type can show has a fixture", () => {
  const shown = refused
    .flatMap((file) => expectations(readFileSync(join(folder, "refused", file), "utf8")))
    .map(({ text }) => text);
  const missing = Object.entries(sentences)
    .filter(([, words]) => !shown.some((text) => asPattern(words).test(text)))
    .map(([name]) => name);
  // No type can tell a NUL character, nor a column from what is none.
  expect(missing).toEqual(["noColumn", "nameNul"]);
});

test("a table of thirty columns costs the compiler little", { timeout: 60_000 }, () => {
  const config = ts.readConfigFile(join(folder, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, folder);
  const [empty = "", thirty = ""] = ["empty.ts", "thirty-columns.ts"].map((file) =>
    join(folder, "cost", file),
  );
  const program = ts.createProgram([empty, thirty], options);
  expect(program.getSemanticDiagnostics(program.getSourceFile(empty))).toEqual([]);
  const before = instantiations(program);
  expect(program.getSemanticDiagnostics(program.getSourceFile(thirty))).toEqual([]);
  const cost = instantiations(program) - before;
  expect(cost).toBeGreaterThan(0);
  // A compiler makes some millions in a second.
  expect(cost).toBeLessThan(60_000);
});

function compiled(compiler: string): Promise<ReadonlyMap<string, readonly Fault[]>> {
  const tsc = join(repository, "node_modules", compiler, "bin", "tsc");
  const args = [tsc, "-p", join(folder, "tsconfig.json"), "--pretty", "false"];
  return new Promise((resolve) => {
    // It ends with an error, since the fixtures do not compile.
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 1 << 24 }, (_error, stdout) => {
      const faults = new Map<string, Fault[]>();
      for (const block of stdout.split(/\n(?=\S)/)) {
        const [, file = "(no file)", line, text = block] =
          /^(\S+)\((\d+),\d+\): (.*)$/s.exec(block.trim()) ?? [];
        if (text === "") continue;
        faults.set(file, [...(faults.get(file) ?? []), { line: Number(line), text }]);
      }
      resolve(faults);
    });
  });
}

/** `// expect: words` is about the line below it. */
function expectations(code: string): Fault[] {
  return code.split("\n").flatMap((line, index) => {
    const text = /^\s*\/\/ expect: (.+)$/.exec(line)?.[1];
    return text === undefined ? [] : [{ line: index + 2, text }];
  });
}

function asPattern(words: string): RegExp {
  const literal = words
    .split(/<\w+>/)
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(literal.join(".+"));
}

function instantiations(program: ts.Program): number {
  const count: unknown = Reflect.get(program, "getInstantiationCount").call(program);
  if (typeof count !== "number") throw new TypeError("this compiler counts no instantiations");
  return count;
}
