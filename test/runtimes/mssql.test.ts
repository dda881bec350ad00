import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import installMssql from "../mssql/install.ts";
import { repository } from "../support/package.ts";
import { bundled } from "./bundled.ts";
import { Program } from "./program.ts";
import { installRuntimes, isInstalled, runtimes } from "./runtimes.ts";

const FACTS = {
  values: [
    [["9007199254740993", "ä\0b", "1"]],
    [
      "bigint",
      "nvarchar(8000)",
      "int",
      "nvarchar(8000)",
      "bit",
      "float",
      "varbinary(max)",
      "nvarchar(max)",
    ],
  ],
  // The pool opens a session of its own first, to see whether it can.
  transactions: [1, 2],
  failures: [
    [2627, false],
    [241, true],
    ["TransactionError", true],
  ],
  lostSessions: [true, 3],
  pools: [2, 0, 3],
};

const folder = join(repository, "node_modules", ".cache", "intray", "runtimes");

beforeAll(async () => {
  await Promise.all([installRuntimes(), installMssql()]);
  await mkdir(folder, { recursive: true });
  const facts = fileURLToPath(new URL("mssql-facts.ts", import.meta.url));
  await writeFile(join(folder, "mssql-facts.mjs"), await bundled(facts));
}, 300_000);

test.for(runtimes.map((each) => [each.name, each] as const))(
  "4, 63: mssql on %s: values, transactions, failures, and what becomes of connections",
  async ([, runtime], context) => {
    if (!isInstalled(runtime)) context.skip(`${runtime.name} is not made for this platform`);
    const program = new Program(runtime, "mssql-facts.mjs", folder, {
      MSSQL_FOLDER: join(repository, "test", "mssql", "package.json"),
    });
    const said = (await program.end()).split("\n").find((line) => line.startsWith("{"));
    expect(JSON.parse(said ?? "{}")).toEqual(FACTS);
  },
);
