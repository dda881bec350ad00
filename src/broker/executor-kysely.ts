/**
 * Writing through Kysely, by what its class has: it gives nobody the driver's client. PostgreSQL's parameters are
 * text and bytes that every driver sends as they are; those of MySQL go as {@link HexLiteral}.
 */
import type { QueryResult, StatementStep } from "../driver/connection.ts";
import { hasMethods, isObject } from "../options.ts";
import type { Executor } from "./executor.ts";
import { ownTransactionExecutor } from "./executor-orm-client.ts";
import { HexLiteral, hexParameter } from "./hex-parameter.ts";

type Method = (...args: unknown[]) => unknown;
type KyselyLike = object & Record<"executeQuery" | "withoutPlugins" | "transaction", Method>;
type Database = "postgres" | "mysql";

export function kyselyExecutorOf(value: unknown): Executor | undefined {
  if (!isKysely(value)) return undefined;
  const adapter = adapterOf(value);
  const database = databaseOf(adapter);
  if (Reflect.get(value, "isTransaction") === true) {
    return transactionExecutor(value, database, adapter);
  }
  const builder = value.transaction();
  if (!hasMethods(builder, ["execute"])) throw unknownVersion();
  return ownTransactionExecutor(
    database,
    async (work) => await builder.execute(work),
    (tx) => {
      if (!isKysely(tx)) throw unknownVersion();
      return transactionExecutor(tx, database, adapter);
    },
    adapter,
  );
}

function transactionExecutor(tx: KyselyLike, database: Database, adapter: object): Executor {
  // The service's plugins change what statements and answers are.
  const plain = tx.withoutPlugins();
  if (!isKysely(plain)) throw unknownVersion();
  return {
    database,
    origin: adapter,
    // Whoever writes here side by side shares the ids that MySQL has counted last.
    session: tx,
    async run(steps) {
      if (database === "mysql") await checkLiterals(plain, adapter);
      const results: QueryResult[] = [];
      for (const step of steps) results.push(await runStep(plain, database, step));
      return results;
    },
  };
}

async function runStep(
  db: KyselyLike,
  database: Database,
  { params = [], text }: StatementStep,
): Promise<QueryResult> {
  const parameters =
    database === "mysql"
      ? params.map((value, index) => hexParameter(value, index + 1))
      : [...params];
  return await query(db, text, parameters);
}

/** As `CompiledQuery.raw` makes it. */
async function query(
  db: KyselyLike,
  sql: string,
  parameters: readonly unknown[],
): Promise<QueryResult> {
  const node = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
  const queryId = { queryId: `intray${++queries}` };
  const answer = await db.executeQuery({ sql, parameters, query: node, queryId });
  const rows: unknown = isObject(answer) ? answer["rows"] : undefined;
  if (!Array.isArray(rows)) throw unknownVersion();
  return { rows, rowCount: rows.length };
}

let queries = 0;

/** Where it is known of a Kysely's driver that it takes literals. */
const literalsKnown = new WeakSet<object>();

/** @throws TypeError where the driver under Kysely would write something else than the value. */
async function checkLiterals(db: KyselyLike, adapter: object): Promise<void> {
  if (literalsKnown.has(adapter)) return;
  const { rows } = await query(db, "SELECT ? AS answer", [new HexLiteral("it's \\ exact")]);
  const [row] = rows;
  if (!isObject(row) || row["answer"] !== "it's \\ exact") {
    throw new TypeError(
      "Kysely: the driver under it changes values: rows are written through one on mysql2 without a typeCast of its own; pass the driver's own connection",
    );
  }
  literalsKnown.add(adapter);
}

function isKysely(value: unknown): value is KyselyLike {
  return (
    isObject(value) &&
    hasMethods(value, ["executeQuery", "getExecutor", "withoutPlugins", "transaction"])
  );
}

function adapterOf(db: KyselyLike): object {
  const executor = hasMethods(db, ["getExecutor"]) ? db.getExecutor() : undefined;
  const adapter: unknown = isObject(executor) ? executor["adapter"] : undefined;
  if (!isObject(adapter)) throw unknownVersion();
  return adapter;
}

/** By what the adapter says of its database; that is public, and outlives a minifier. */
function databaseOf(adapter: object): Database {
  const says = (feature: string) => Reflect.get(adapter, feature) === true;
  const isServer = !says("supportsOutput");
  if (isServer && says("supportsReturning") && says("supportsTransactionalDdl")) return "postgres";
  if (isServer && !says("supportsReturning") && !says("supportsTransactionalDdl")) return "mysql";
  throw new TypeError(
    "Kysely: rows are written through one of PostgreSQL, MySQL or MariaDB; pass the driver's own database",
  );
}

function unknownVersion(): TypeError {
  return new TypeError("this version of Kysely is not known here; it takes 0.28 or later");
}
