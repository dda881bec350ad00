/** What the adapter of mssql does on a server that speaks its protocol, said as JSON: the test beside it knows what it should be. */
import { createRequire } from "node:module";
import { endsTransaction, isSessionLost } from "../../src/dialect/sqlserver/errors.ts";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { fromMssql } from "../../src/driver/mssql.ts";
import { TdsServer } from "../mssql/tds-server.ts";
import type { Mssql, MssqlPool } from "../support/mssql-pool.ts";

const folder = process.env["MSSQL_FOLDER"];
if (folder === undefined) throw new Error("MSSQL_FOLDER is where the driver is");
const mssql: Mssql = createRequire(folder)("mssql");

const facts: Record<string, unknown> = {};
for (const [name, find] of Object.entries({
  values,
  transactions,
  failures,
  lostSessions,
  pools,
})) {
  facts[name] = await onServer(find);
}
console.log(JSON.stringify(facts));

interface Opened {
  readonly server: TdsServer;
  readonly pool: MssqlPool;
  readonly source: ConnectionSource;
}

async function onServer(find: (opened: Opened) => Promise<unknown>): Promise<unknown> {
  const server = new TdsServer();
  const port = await server.listen();
  const pool = new mssql.ConnectionPool({
    server: "127.0.0.1",
    port,
    user: "sa",
    password: "secret",
    database: "app",
    pool: { max: 2 },
    options: { encrypt: false },
  });
  try {
    return await find({ server, pool, source: fromMssql(mssql, pool) });
  } finally {
    await pool.close();
    await server.close();
  }
}

/** Parameters as they went over the wire, and what came back. */
async function values({ server, source }: Opened): Promise<unknown> {
  server.answer = ({ text }) =>
    text.startsWith("SELECT @p1")
      ? [
          {
            columns: { a: "bigint", b: "nvarchar", c: "int" },
            rows: [[9_007_199_254_740_993n, "ä\0b", 1]],
          },
        ]
      : undefined;
  const connection = await source.connect();
  const sent = [
    9_007_199_254_740_993n,
    "ä\0b",
    1,
    null,
    true,
    0.5,
    Buffer.from([0, 255]),
    "x".repeat(5000),
  ];
  const text = `SELECT ${sent.map((_, index) => `@p${index + 1}`).join(", ")}`;
  const { rows } = await connection.query(text, sent);
  await connection.release();
  const params = server.said.at(-1)?.params ?? [];
  return [rows.map((row) => Object.values(row).map(String)), params.map(({ type }) => type)];
}

async function transactions({ server, source }: Opened): Promise<unknown> {
  const connection = await source.connect();
  for (const end of ["commit", "rollback"] as const) {
    await connection.begin();
    await connection.query("INSERT a");
    await connection[end]();
  }
  await connection.release();
  return [server.committed, server.opened];
}

/** An error that the transaction outlives, and one that ends it. */
async function failures({ server, source }: Opened): Promise<unknown> {
  server.answer = ({ text }) =>
    text === "INSERT twice"
      ? [{ error: 2627, severity: 14 }]
      : text === "INSERT wrong"
        ? ["rolled back", { error: 241 }]
        : undefined;
  const connection = await source.connect();
  await connection.begin();
  const said: unknown[] = [];
  for (const text of ["INSERT twice", "INSERT wrong", "INSERT late"]) {
    const error = await failure(connection.query(text));
    said.push([
      Reflect.get(Object(error), "number") ?? Object(error).constructor.name,
      endsTransaction(error),
    ]);
  }
  await connection.rollback();
  await connection.release();
  return said;
}

async function lostSessions({ server, source }: Opened): Promise<unknown> {
  server.answer = ({ text }) => (text === "SELECT never" ? "hang up" : undefined);
  const connection = await source.connect();
  const error = await failure(connection.query("SELECT never"));
  await connection.release(new Error("it is gone"));
  const next = await source.connect();
  await next.query("SELECT more");
  await next.release();
  return [isSessionLost(error), server.opened];
}

/** What is released is lent again; what is in doubt is closed. */
async function pools({ pool, server, source }: Opened): Promise<unknown> {
  const [one, two] = await Promise.all([source.connect(), source.connect()]);
  const lent = pool.borrowed;
  await one.release();
  await two.release(new Error("in doubt"));
  const again = await source.connect();
  await again.release();
  return [lent, pool.borrowed, server.opened];
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
