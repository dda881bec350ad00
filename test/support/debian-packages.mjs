/**
 * Programs out of Debian's packages: taken into a folder of ours, which changes nothing of the machine and needs no
 * rights on it.
 */
import { execFile } from "node:child_process";
import { access, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** Milliseconds for one command: a mirror may be slow, or not answer. */
const PATIENCE_MS = 60_000;

export const run = async (program, args, cwd) =>
  (await promisify(execFile)(program, args, { cwd, timeout: PATIENCE_MS, maxBuffer: 1e8 })).stdout;

/** The folder of that name, as `make(folder)` makes it where it is not there yet. */
export async function madeOnce(folder, name, make) {
  const root = join(folder, name);
  if (await exists(root)) return root;
  // Beside its place until it is whole: two runs may be at it at once.
  const making = join(folder, `${name}-${process.pid}`);
  try {
    await mkdir(making, { recursive: true });
    await make(making);
    await rename(making, root);
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    if (!(await exists(root))) throw error;
  }
  return root;
}

/** Downloads the packages by apt's settings, and takes their files out into `root`. */
export async function unpack(root, settings, names) {
  const packages = join(root, "packages");
  await mkdir(packages);
  await run("apt-get", [...settings, "download", ...names], packages);
  for (const file of await readdir(packages)) {
    await run("dpkg", ["-x", join(packages, file), root]);
  }
  await rm(packages, { recursive: true });
}

/** apt's settings for lists of packages in a folder of our own, which anybody may fetch; `more` settings beside. */
export async function ownLists(root, more = []) {
  const lists = join(root, "lists");
  await mkdir(join(lists, "partial"), { recursive: true });
  const cache = `Dir::Cache=${join(root, "cache")}`;
  const settings = [`Dir::State::lists=${lists}`, cache, ...more].flatMap((each) => ["-o", each]);
  await run("apt-get", [...settings, "update"]);
  return settings;
}

export function exists(path) {
  return access(path).then(
    () => true,
    () => false,
  );
}
