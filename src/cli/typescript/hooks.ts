/**
 * Module hooks that let Node import TypeScript as projects write it: types taken away (enums and
 * parameter properties made code), `./tables` and `./tables.js` found as `./tables.ts`. The same on every
 * Node: what one strips by itself another refuses.
 *
 * A file of its own beside the command line, since Node 20 runs hooks on a thread of their own. They
 * answer at once, so that both `module.register` and `module.registerHooks` take them.
 */
import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { transform } from "sucrase";

interface Resolved {
  readonly url: string;
  readonly shortCircuit?: boolean;
}

interface Loaded {
  readonly format: string;
  readonly source: string;
  readonly shortCircuit: boolean;
}

type Next<Context, Answer> = (specifier: string, context?: Context) => Answer;

/** Tried in this order where a relative import names no file. */
const ENDINGS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", "/index.ts", "/index.js"];

/** What TypeScript wants to be imported by the name of its output. */
const OUTPUTS: readonly (readonly [output: RegExp, source: string])[] = [
  [/\.js$/, ".ts"],
  [/\.mjs$/, ".mts"],
  [/\.cjs$/, ".cts"],
];

export function resolve(
  specifier: string,
  context: { readonly parentURL?: string },
  next: Next<object, Resolved>,
): Resolved {
  const url = /^\.\.?(\/|$)/.test(specifier) ? resolved(specifier, context.parentURL) : undefined;
  return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
}

/** A file that the import means and does not name. */
function resolved(specifier: string, parent: string | undefined): string | undefined {
  if (parent === undefined || !parent.startsWith("file:")) return undefined;
  const exact = new URL(specifier, parent);
  if (isFile(exact)) return undefined;
  const { href } = exact;
  const candidates = [
    ...OUTPUTS.filter(([output]) => output.test(href)).map(([output, source]) =>
      href.replace(output, source),
    ),
    ...ENDINGS.map((ending) => href.replace(/\/$/, "") + ending),
  ];
  return candidates.find((candidate) => isFile(new URL(candidate)));
}

function isFile(url: URL): boolean {
  return statSync(fileURLToPath(url), { throwIfNoEntry: false })?.isFile() ?? false;
}

export function load(url: string, context: object, next: Next<object, Loaded>): Loaded {
  const ending = /\.([mc]?)ts$/.exec(url.replace(/[?#].*$/, ""));
  if (ending === null || !url.startsWith("file:")) return next(url, context);
  const filePath = fileURLToPath(url);
  const isCommonJs = ending[1] === "c";
  // Lines stay where they are, so errors need no source map.
  const { code } = transform(readFileSync(filePath, "utf8"), {
    filePath,
    transforms: isCommonJs ? ["typescript", "imports"] : ["typescript"],
    disableESTransforms: true,
  });
  return { format: isCommonJs ? "commonjs" : "module", source: code, shortCircuit: true };
}
