import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PGlite } from "@electric-sql/pglite";
import { DROP_EVERYTHING } from "./drop-everything.ts";

const RESET_DEADLINE_MS = 2_000;

let current: PGlite | undefined;

/**
 * An empty in-memory PGlite. One instance serves a test file's tests one after the other, emptied in
 * between (15 ms); one that does not answer, because something still runs on it, is left behind.
 */
export async function emptyPglite(): Promise<PGlite> {
  if (current !== undefined && !(await reset(current))) current = undefined;
  current ??= await loadPglite();
  return current;
}

/** For one that a test left with its connection taken: the next test gets another. */
export function abandonPglite(db: PGlite): void {
  if (current === db) current = undefined;
}

async function reset(db: PGlite): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, RESET_DEADLINE_MS, false);
  });
  const emptied = db
    .exec("DISCARD ALL")
    .then(() => db.exec(DROP_EVERYTHING))
    .then(
      () => true,
      () => false,
    );
  const answer = await Promise.race([emptied, late]);
  clearTimeout(timer);
  return answer;
}

/**
 * Saves the data folder of a new PGlite, once for its version: an instance from there takes 0.7 s
 * instead of 3 to 5 s. Happens before the tests, whose time it would be otherwise.
 */
export async function savePglite(): Promise<void> {
  const file = await cacheFile();
  if (existsSync(file)) return;
  const db = await PGlite.create();
  const dump = await db.dumpDataDir("none");
  await db.close();
  await mkdir(dirname(file), { recursive: true });
  const part = `${file}.${process.pid}`;
  await writeFile(part, Buffer.from(await dump.arrayBuffer()));
  await rename(part, file);
}

async function loadPglite(): Promise<PGlite> {
  const saved = await readFile(await cacheFile());
  return await PGlite.create({ loadDataDir: new Blob([saved]) });
}

async function cacheFile(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const description: unknown = JSON.parse(
    await readFile(join(dirname(entry), "..", "package.json"), "utf8"),
  );
  if (typeof description !== "object" || description === null || !("version" in description)) {
    throw new Error(`no version in the package.json of ${entry}`);
  }
  const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
  return join(modules, ".cache", "intray", `pglite-${String(description.version)}.tar`);
}
