/**
 * `npm run example:mailer`: runs examples/mailer/main.ts on the library's source, without a build. Node 20
 * runs no TypeScript by itself, so Vite reads it.
 */
import { join } from "node:path";
import { runnerImport } from "vite";
import { root } from "./lib.mjs";

const [name] = process.argv.slice(2);
await runnerImport(join(root, "examples", name, "main.ts"), {
  root,
  configFile: false,
  logLevel: "error",
  // The package by its name is the source, as tsconfig.json says, also where there is a dist/.
  resolve: { tsconfigPaths: true, noExternal: [/^intray/] },
});
