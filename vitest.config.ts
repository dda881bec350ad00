import { defineConfig } from "vitest/config";

const database = {
  globalSetup: ["test/support/global-setup.ts"],
  // Wide: a test waits with deadlines of its own, and a busy machine is no failure.
  testTimeout: 60_000,
  hookTimeout: 120_000,
};

export default defineConfig({
  test: {
    // The machine may be small: a file a core, and databases are shared by all of them.
    maxWorkers: 2,
    dangerouslyIgnoreUnhandledErrors: false,
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          // The grammar of T-SQL takes a second for its first text, and many on a busy machine.
          testTimeout: 60_000,
        },
      },
      { test: { name: "contract", include: ["test/contract/**/*.test.ts"], ...database } },
      {
        test: {
          name: "cli",
          include: ["test/cli/**/*.test.ts"],
          ...database,
          globalSetup: ["test/support/build-cli.ts", ...database.globalSetup],
        },
      },
      {
        // The examples import the package by its name; tsconfig.json says where that is.
        resolve: { tsconfigPaths: true },
        test: {
          name: "examples",
          include: ["test/examples/**/*.test.ts", "examples/**/*.test.ts"],
          ...database,
        },
      },
      { test: { name: "runtimes", include: ["test/runtimes/**/*.test.ts"], ...database } },
      "test/integrations/vitest.config.ts",
      "test/mssql/vitest.config.ts",
    ],
  },
});
