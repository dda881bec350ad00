import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { librariesIn, mysqlPrograms } from "../support/mysql-programs.mjs";
import { wantsOwnMysql } from "../support/requirements.ts";

describe("a MySQL out of Debian's packages", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "intray-programs-"));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });

  test("INTRAY_MYSQL asks for it by one word", () => {
    expect([undefined, "", "packages"].map(wantsOwnMysql)).toEqual([false, false, true]);
    expect(() => wantsOwnMysql("docker")).toThrow(/INTRAY_MYSQL is "docker"; it takes packages/);
  });

  test("its libraries come along, and nothing else that it depends on", () => {
    const told = [
      "mysql-server-core",
      "  Depends: libc6",
      "  Depends: <perl:any>",
      "    perl",
      "libc6",
      "  Depends: libgcc-s1",
      "perl",
      "libperl5.42",
      "libgcc-s1",
      "gcc-16-base",
      "zlib1g",
      "<debconf-2.0>",
    ];
    expect(librariesIn(told.join("\n"))).toEqual(["libc6", "libgcc-s1", "zlib1g"]);
  });

  test("where there is no apt, the error says what to do, and nothing is left", async () => {
    vi.stubEnv("PATH", folder);
    await expect(mysqlPrograms(folder)).rejects.toThrow(
      "no MySQL could be had from Debian's packages (spawn apt-get ENOENT): leave out INTRAY_MYSQL, or set MYSQL_URL",
    );
    expect(await readdir(folder)).toEqual([]);
  });

  test("it runs by the loader and the libraries that came along", async () => {
    const library = join(folder, "mysql", "usr", "lib", "aarch64-linux-gnu");
    await mkdir(library, { recursive: true });
    const loader = join(library, "ld-linux-aarch64.so.1");
    await writeFile(loader, "");
    vi.stubEnv("PATH", folder);
    const { daemon, standing } = await mysqlPrograms(folder);
    const mysqld = join(folder, "mysql", "usr", "sbin", "mysqld");
    expect(daemon).toEqual([loader, "--library-path", library, mysqld]);
    expect(standing[0]).toBe(`--basedir=${join(folder, "mysql", "usr")}`);
  });
});
