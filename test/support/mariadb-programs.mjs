/**
 * Where MariaDB's programs are: the machine's own; else, on Debian and its kin, taken out of the packages into a
 * folder of ours, which changes nothing of the machine and needs no rights on it.
 */
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { exists, madeOnce, ownLists, run, unpack } from "./debian-packages.mjs";

/**
 * What a keeper runs: `daemon` and `install`, a program and its first words; the options of each, `installing` and
 * `serving`; `standing`, options of both that say where they stand when they are not the machine's; `env`, what they
 * need. @throws Error that says what to do where there are none.
 */
export async function mariadbPrograms(folder) {
  const daemon = await onPath("mariadbd");
  const install = await onPath("mariadb-install-db");
  if (daemon !== undefined && install !== undefined) {
    return programs(daemon, install, [], process.env);
  }
  try {
    return await fromPackages(folder);
  } catch (error) {
    throw new Error(
      `there is no mariadbd here, and none could be had from Debian's packages (${String(error?.message ?? error).trim()}): ` +
        "install MariaDB 10.6 or later, or set MYSQL_URL",
    );
  }
}

function programs(daemon, install, standing, env) {
  return {
    daemon: [daemon],
    install: [install],
    installing: ["--auth-root-authentication-method=normal", "--skip-test-db"],
    serving: ["--skip-name-resolve", "--innodb-log-file-size=32M"],
    standing,
    env,
  };
}

async function fromPackages(folder) {
  const root = await madeOnce(folder, "mariadb", fill);
  const base = join(root, "usr");
  const daemon = join(base, "sbin", "mariadbd");
  const libraries = [join(base, "lib"), join(root, "lib")];
  const folders = libraries.concat((await Promise.all(libraries.map(inside))).flat());
  const env = { ...process.env, LD_LIBRARY_PATH: folders.join(delimiter) };
  const { stdout } = await promisify(execFile)("ldd", [daemon], { env });
  const missing = stdout.split("\n").filter((line) => line.includes("not found"));
  if (missing.length > 0) throw new Error(`its libraries are missing: ${missing.join(", ")}`);
  return programs(daemon, join(base, "bin", "mariadb-install-db"), [`--basedir=${base}`], env);
}

async function fill(root) {
  const settings = await packageLists(root);
  const [server] = await named("mariadb-server-core", settings);
  const [client] = await named("mariadb-client-core", settings);
  if (server === undefined || client === undefined) {
    throw new Error("there is no package mariadb-server-core");
  }
  await unpack(root, settings, [server, client, ...(await missingLibraries(server, settings))]);
}

/** The machine's lists of packages; where it has none, lists of our own, which anybody may fetch. */
async function packageLists(root) {
  if ((await named("mariadb-server-core", [])).length > 0) return [];
  return await ownLists(root);
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
