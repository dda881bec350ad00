/** What the ORMs have in common that hand out the driver's client. */
import { hasMethods, isObject } from "../options.ts";
import type { Executor } from "./executor.ts";
import { driverExecutorOf } from "./executor-driver.ts";
import { runningParts } from "./executor-parts.ts";
import { isSql } from "./executor-postgres.ts";

/** How an ORM hands out the client of a transaction. */
export interface OrmTransactionClient {
  /** The ORM's name, for errors. */
  readonly orm: string;
  readonly database: "postgres" | "mysql";
  /** See {@link Executor.origin}. */
  readonly origin: unknown;
  /** Answers the client that the transaction is open on. @throws where it is not open any more. */
  client(): unknown;
}

/** Writes on the client that an ORM's transaction is open on. */
export function transactionClientExecutor(transaction: OrmTransactionClient): Executor {
  const { database, origin, orm } = transaction;
  return {
    database,
    ...(isObject(origin) && { origin }),
    runsPrograms: true,
    async run(steps, begin) {
      const client = await transaction.client();
      const executor = driverExecutorOf(client);
      if (executor?.database !== database) {
        throw new TypeError(
          `${orm}: its transaction is on no client that is known here: pass the driver's own, or in a handler its tx`,
        );
      }
      await checkOpen(orm, client);
      return await runningParts(executor).run(steps, begin);
    },
  };
}

/** Writes in transactions of its own, which the ORM opens: it knows how to give their connections back. */
export function ownTransactionExecutor(
  database: string,
  transaction: (work: (tx: unknown) => Promise<void>) => Promise<unknown>,
  executorIn: (tx: unknown) => Executor,
  origin?: unknown,
): Executor {
  return {
    database,
    ...(isObject(origin) && { origin }),
    runsPrograms: true,
    async run(steps, begin) {
      let results: Awaited<ReturnType<Executor["run"]>> = [];
      await transaction(async (tx) => {
        results = await runningParts(executorIn(tx)).run(steps, begin);
      });
      return results;
    },
  };
}

/**
 * The database's own word that a transaction is open: an ORM's object may outlive its transaction, and the
 * connection is somebody else's by then.
 *
 * @throws TypeError where none is.
 */
async function checkOpen(orm: string, client: unknown): Promise<void> {
  if (await isOpen(client)) return;
  throw new TypeError(
    `${orm}: the connection has no transaction open: its transaction has ended, or was never begun`,
  );
}

async function isOpen(client: unknown): Promise<boolean> {
  if (hasMethods(client, ["getTransactionStatus"])) return client.getTransactionStatus() !== "I";
  if (isSql(client)) return await takesSavepoint(() => client.unsafe(SAVEPOINT));
  if (hasMethods(client, ["query"]) && "connectionParameters" in client) {
    return await takesSavepoint(() => client.query(SAVEPOINT));
  }
  const withPromises = hasMethods(client, ["promise"]) ? client.promise() : client;
  // PGlite refuses by itself what comes after a transaction's end.
  if (!hasMethods(withPromises, ["query", "beginTransaction"])) return true;
  return isOpenMysql(await withPromises.query("DO 0"));
}

/** For postgres.js, and for pg before 8.18: PostgreSQL refuses it where no transaction is open. */
const SAVEPOINT = "SAVEPOINT intray_open; RELEASE SAVEPOINT intray_open";
const NO_TRANSACTION = "25P01";

async function takesSavepoint(send: () => unknown): Promise<boolean> {
  try {
    await send();
    return true;
  } catch (error) {
    if (isObject(error) && error["code"] === NO_TRANSACTION) return false;
    throw error;
  }
}

/** MySQL and MariaDB say it in every answer. */
function isOpenMysql(answer: unknown): boolean {
  const header: unknown = Array.isArray(answer) ? answer[0] : undefined;
  const status: unknown = isObject(header) ? header["serverStatus"] : undefined;
  if (typeof status !== "number") return true;
  // Without autocommit, whatever is written begins a transaction.
  return (status & IN_TRANSACTION) !== 0 || (status & AUTOCOMMIT) === 0;
}

const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;
