/**
 * Where MariaDB's programs are: the machine's own; else, on Debian and its kin, taken out of the packages into a
 * folder of ours, which changes nothing of the machine and needs no rights on it.
 */
import { execFile } from "node:child_process";
import { access, mkdir, readdir, rename, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

/** Milliseconds for one command: a mirror may be slow, or not answer. */
const PATIENCE_MS = 60_000;
const run = async (program, args, cwd) =>
  (await promisify(execFile)(program, args, { cwd, timeout: PATIENCE_MS, maxBuffer: 1e8 })).stdout;

/**
 * `daemon` and `install`, the programs' paths; `base`, where they stand when they are not the machine's; `env`, what
 * they need. @throws Error that says what to do where there are none.
 */
export async function mariadbPrograms(folder) {
  const daemon = await onPath("mariadbd");
  const install = await onPath("mariadb-install-db");
  if (daemon !== undefined && install !== undefined) return { daemon, install, env: process.env };
  try {
    return await fromPackages(folder);
  } catch (error) {
    throw new Error(
      `there is no mariadbd here, and none could be had from Debian's packages (${String(error?.message ?? error).trim()}): ` +
        "install MariaDB 10.6 or later, or set MYSQL_URL",
    );
  }
}

async function fromPackages(folder) {
  const root = join(folder, "mariadb");
  if (!(await exists(root))) {
    // Beside its place until it is whole: two runs may be at it at once.
    const making = join(folder, `mariadb-${process.pid}`);
    await unpack(making);
    await rename(making, root).catch(async (error) => {
      await rm(making, { recursive: true, force: true });
      if (!(await exists(root))) throw error;
    });
  }
  const base = join(root, "usr");
  const daemon = join(base, "sbin", "mariadbd");
  const libraries = [join(base, "lib"), join(root, "lib")];
  const folders = libraries.concat((await Promise.all(libraries.map(inside))).flat());
  const env = { ...process.env, LD_LIBRARY_PATH: folders.join(delimiter) };
  const { stdout } = await promisify(execFile)("ldd", [daemon], { env });
  const missing = stdout.split("\n").filter((line) => line.includes("not found"));
  if (missing.length > 0) throw new Error(`its libraries are missing: ${missing.join(", ")}`);
  return { daemon, install: join(base, "bin", "mariadb-install-db"), base, env };
}

/** Downloads the packages, and takes their files out. */
async function unpack(root) {
  const packages = join(root, "packages");
  await mkdir(packages, { recursive: true });
  try {
    const settings = await packageLists(root);
    const [server] = await named("mariadb-server-core", settings);
    const [client] = await named("mariadb-client-core", settings);
    if (server === undefined || client === undefined) {
      throw new Error("there is no package mariadb-server-core");
    }
    const wanted = [server, client, ...(await missingLibraries(server, settings))];
    await run("apt-get", [...settings, "download", ...wanted], packages);
    for (const file of await readdir(packages)) {
      await run("dpkg", ["-x", join(packages, file), root]);
    }
    await rm(packages, { recursive: true });
  } catch (error) {
    await rm(root, { recursive: true, force: true });
    throw error;
  }
}

/** The machine's lists of packages; where it has none, lists of our own, which anybody may fetch. */
async function packageLists(root) {
  if ((await named("mariadb-server-core", [])).length > 0) return [];
  const lists = join(root, "lists");
  await mkdir(join(lists, "partial"), { recursive: true });
  const settings = ["-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${join(root, "cache")}`];
  await run("apt-get", [...settings, "update"]);
  return settings;
}

/** Packages of that name, or of that name with a version: the plain one first. */
async function named(name, settings) {
  const names = (await run("apt-cache", [...settings, "pkgnames", name])).split("\n");
  return names
    .filter((each) => each === name || /^-\d[\d.]*$/.test(each.slice(name.length)))
    .sort();
}

async function missingLibraries(server, settings) {
  const depends = await run("apt-cache", [...settings, "depends", server]);
  const libraries = [...depends.matchAll(/^\s*Depends: (lib\S+)$/gm)].map(([, name]) => name);
  const missing = [];
  for (const library of new Set(libraries)) {
    const state = await run("dpkg-query", ["-s", library]).catch(() => "");
    if (!state.includes(" ok installed")) missing.push(library);
  }
  return missing;
}

async function inside(folder) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

async function onPath(name) {
  // As on a machine without it, to try that.
  if (process.env.INTRAY_MARIADB === "packages") return undefined;
  const places = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  for (const place of places) {
    const path = join(place, name);
    if (await exists(path)) return path;
  }
  return undefined;
}

function exists(path) {
  return access(path).then(
    () => true,
    () => false,
  );
}
