/** Writing through Prisma's interactive transaction, by its raw queries: of PostgreSQL alone. */
import type { QueryResult, StatementStep } from "../driver/connection.ts";
import { hasMethods, isObject } from "../options.ts";
import type { Executor } from "./executor.ts";
import { ownTransactionExecutor } from "./executor-orm-client.ts";

type Method = (...args: unknown[]) => unknown;
type PrismaLike = object & Record<"$queryRawUnsafe", Method>;

export function prismaExecutorOf(value: unknown): Executor | undefined {
  if (!isPrisma(value)) return undefined;
  const provider: unknown = Reflect.get(value, "_activeProvider");
  if (provider !== "postgresql" && provider !== "postgres") {
    throw new TypeError(
      "Prisma: rows are written through a client of PostgreSQL; with another database write with a pool of the driver's own",
    );
  }
  // What a transaction's client has not, by its documented type.
  const isTransaction = !hasMethods(value, ["$connect"]);
  if (isTransaction) return transactionExecutor(value);
  if (!hasMethods(value, ["$transaction"])) throw new TypeError("Prisma: this is no client");
  const transaction = value.$transaction.bind(value);
  return ownTransactionExecutor(
    "postgres",
    async (work) => await transaction(work),
    (tx) => {
      if (isPrisma(tx)) return transactionExecutor(tx);
      throw new TypeError("Prisma gave no transaction");
    },
  );
}

function isPrisma(value: unknown): value is PrismaLike {
  return isObject(value) && hasMethods(value, ["$queryRawUnsafe", "$executeRawUnsafe"]);
}

/** The library's statements take text and bytes, and answer text: Prisma changes neither. */
function transactionExecutor(tx: PrismaLike): Executor {
  return {
    database: "postgres",
    session: tx,
    async run(steps) {
      const results: QueryResult[] = [];
      for (const step of steps) results.push(await runStep(tx, step));
      return results;
    },
  };
}

async function runStep(tx: PrismaLike, { params = [], text }: StatementStep): Promise<QueryResult> {
  const rows = await tx.$queryRawUnsafe(text, ...params);
  if (!Array.isArray(rows)) throw new TypeError("Prisma answered no rows");
  return { rows: Array.from(rows), rowCount: rows.length };
}
