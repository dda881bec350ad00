import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { repository } from "../support/package.ts";

describe("the module's own types fit what fromMssql takes", () => {
  test.each([
    ["TypeScript 6", "typescript"],
    ["TypeScript 7", "typescript7"],
  ])(
    "%s",
    async (_name, compiler) => {
      const tsc = join(repository, "node_modules", compiler, "bin", "tsc");
      const project = join(import.meta.dirname, "types");
      const problems = await promisify(execFile)(process.execPath, [tsc, "-p", project]).then(
        () => "",
        (error: { stdout?: string }) => error.stdout ?? String(error),
      );
      expect(problems).toBe("");
    },
    180_000,
  );
});
