import { join } from "node:path";
import { defineConfig } from "vitest/config";

const modules = join(import.meta.dirname, "node_modules");

export default defineConfig({
  root: import.meta.dirname,
  // The library's code does not see this folder's packages by itself.
  resolve: { alias: [{ find: /^(@nestjs\/\w+)$/, replacement: `${modules}/$1` }] },
  test: {
    name: "integrations",
    include: ["*.test.ts"],
    globalSetup: ["install.ts", "../support/global-setup.ts"],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
