import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { repository } from "../support/package.ts";
import { bundled } from "./bundled.ts";
import { Program } from "./program.ts";
import { installRuntimes, isInstalled, MODULES, type Runtime, runtimes } from "./runtimes.ts";

const FACTS = {
  values: [
    ["bigint 9223372036854775807", "a\0b", "bytes 00ff", 1.5],
    ["bigint -9223372036854775808", "", "bytes ", null],
    ["bigint 9007199254740993", "ä", "bytes 78", -0.25],
    ["number 42", "5", null, 3],
  ],
  inserted: [
    ["1", "9007199254740993"],
    { big: "9007199254740993", payload: "00FF" },
    { big: "9007199254740993", payload: "00FF" },
  ],
  bytesAlone: [["blob", "010002"]],
  parameters: [{ number: "integer", empty: 0 }],
  counts: [
    [2, 0],
    [2, 2],
    [0, 0],
    [1, 0],
  ],
  mode: [{ journal_mode: "wal" }],
  waitsForFile: true,
  givesUp: "locked",
  leftAfterRelease: [{ n: 0 }],
  handlers: [["TransactionError: ROLLBACK", "TransactionError: END"], [{ what: "after" }], []],
};

/** Which drivers each runtime has. Node 20 has none of its own. */
function driversOf({ name }: Runtime): readonly string[] {
  if (name === "Bun") return ["libsql", "better-sqlite3", "bun:sqlite"];
  if (name === "Deno") return ["libsql", "better-sqlite3", "node:sqlite"];
  return name.startsWith("Node 20") ? ["libsql"] : ["libsql", "better-sqlite3", "node:sqlite"];
}

// Within node_modules, so that the driver is found.
const folder = join(repository, "node_modules", ".cache", "intray", "runtimes");

beforeAll(async () => {
  await installRuntimes();
  await mkdir(folder, { recursive: true });
  const facts = fileURLToPath(new URL("sqlite-facts.ts", import.meta.url));
  await writeFile(join(folder, "sqlite-facts.mjs"), await bundled(facts));
}, 300_000);

describe.each(runtimes.map((each) => [each.name, each] as const))("%s", (_name, runtime) => {
  test.for(driversOf(runtime))(
    "4, 20, 63: values, locked files, releases and handlers: %s",
    async (driver, context) => {
      if (!isInstalled(runtime)) context.skip(`${runtime.name} is not made for this platform`);
      const program = new Program(runtime, "sqlite-facts.mjs", folder, {
        SQLITE_DRIVER: driver,
        BETTER_SQLITE3: join(MODULES, "better-sqlite3"),
      });
      const said = (await program.end()).split("\n").find((line) => line.startsWith("{"));
      expect(JSON.parse(said ?? "{}")).toEqual(FACTS);
    },
  );
});
