/**
 * MySQL's programs, out of the packages of Debian's unstable, as no stable one has it. They come with every library
 * down to the C library, and the loader that goes with it, as the machine's own may be older.
 */
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { madeOnce, ownLists, run, unpack } from "./debian-packages.mjs";

const SERVER = "mysql-server-core";
const KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg";
const SOURCE = `deb [signed-by=${KEYS}] http://deb.debian.org/debian sid main\n`;

/** What a keeper runs: see mariadb-programs.mjs. @throws Error that says what to do where there is none. */
export async function mysqlPrograms(folder) {
  try {
    return await programsOf(await madeOnce(folder, "mysql", fill));
  } catch (error) {
    throw new Error(
      `no MySQL could be had from Debian's packages (${String(error?.message ?? error).trim()}): ` +
        "leave out INTRAY_MYSQL, or set MYSQL_URL",
    );
  }
}

async function fill(root) {
  const sources = join(root, "sources.list");
  await writeFile(sources, SOURCE);
  const settings = await ownLists(root, [
    `Dir::Etc::SourceList=${sources}`,
    "Dir::Etc::SourceParts=/dev/null",
    // As on a machine that has nothing installed.
    "Dir::State::Status=/dev/null",
  ]);
  const depends = ["depends", "--recurse", "--important", SERVER];
  const libraries = librariesIn(await run("apt-cache", [...settings, ...depends]));
  await unpack(root, settings, [SERVER, ...libraries]);
  for (const name of ["lists", "cache"])
    await rm(join(root, name), { recursive: true, force: true });
}

/** The libraries in what `apt-cache depends` tells; those of Perl are for scripts beside the server. */
export function librariesIn(depends) {
  return [...depends.matchAll(/^(?:lib|zlib)(?!perl)\S*$/gm)].map(([name]) => name);
}

async function programsOf(root) {
  const base = join(root, "usr");
  const files = await readdir(join(base, "lib"), { recursive: true });
  const loader = files.find((path) => /(?:^|\/)ld-linux[^/]*\.so\.\d+$/.test(path));
  const folder = files.find((path) => path.endsWith("-linux-gnu"));
  if (loader === undefined || folder === undefined) throw new Error("they have no C library");
  const library = ["--library-path", join(base, "lib", folder)];
  const daemon = [join(base, "lib", loader), ...library, join(base, "sbin", "mysqld")];
  return {
    daemon,
    install: daemon,
    installing: ["--initialize-insecure"],
    serving: ["--mysqlx=OFF", "--secure-file-priv=", "--innodb-redo-log-capacity=64M"],
    standing: [`--basedir=${base}`, `--lc-messages-dir=${join(base, "share", "mysql")}`],
    env: process.env,
  };
}
