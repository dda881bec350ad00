import mysql from "mysql2/promise";
import { expect, onTestFinished, test } from "vitest";
import { fromMysql2 } from "../../src/driver/mysql2.ts";
import { Broker, type BrokerOptions, c, drop, inboxTable } from "../../src/index.ts";
import type { TestDatabase } from "../support/databases.ts";
import { LineLogger } from "../support/inbox.ts";
import { describeOnMysql } from "../support/mysql-database.ts";
import { connectMariadb as mariadbSource } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { type OrmCase, type OrmDatabase, type OrmTraits, ormContract } from "./orm-contract.ts";

const Jobs = inboxTable("jobs", {
  columns: {
    id: c.bigint().id().generated(),
    lockedUntil: c.timestamp("locked_until").lockedUntil().nullable(),
    payload: c.json<string>().payload(),
  },
});

/** The same for every ORM on MySQL and MariaDB, through mysql2. */
export function describeMysqlOrm(
  name: string,
  open: (url: string) => Promise<OrmCase>,
  { overlaps = "refused", source = mysqlSource }: OrmTraits = {},
): void {
  describeOnMysql(name, (create) => {
    const tableDatabase = () => withTables(create);
    ormContract(tableDatabase, open, { overlaps, source });

    test("refuses a transaction of fromMariadb, whose answers are others", async () => {
      const database = await tableDatabase();
      onTestFinished(() => database.drop());
      const orm = await open(database.url);
      onTestFinished(() => orm.close?.());
      const mariadb = mariadbSource(database.url, 3);
      onTestFinished(() => mariadb.end());
      const { lastError } = await database.handle(mariadb.source, async (tx) => void orm.on(tx));
      expect(lastError).toContain("make the source with fromMysql2");
    });
  });
}

function mysqlSource(url: string) {
  const pool = mysql.createPool({ uri: url, connectionLimit: 3 });
  return { source: fromMysql2(pool), end: () => pool.end() };
}

/** A table of the service's own beside the orders. */
async function withTables(create: () => Promise<TestDatabase>): Promise<OrmDatabase> {
  const database = await create();
  await database.query("CREATE TABLE orders (id VARCHAR(50) PRIMARY KEY, total INT)");
  for (const statement of Jobs.ddl("mysql")) await database.query(statement);
  return {
    ...database,
    async handle(source, handler) {
      const logger = new LineLogger();
      const options: BrokerOptions = { pollIntervalMs: 20, logger };
      const broker = new Broker(source, options);
      let lastError: string | null = null;
      const failed = (error: unknown) => {
        lastError = saidBy(error);
        return drop();
      };
      broker.subscribe(
        Jobs.queue(),
        { transactional: true, onFailure: { throw: failed } },
        (_message, { tx }) => handler(tx),
      );
      await broker.publish(Jobs.queue(), "a");
      await broker.start();
      const settled = () => broker.stats()[0]?.settled;
      await until(() => (settled()?.ack ?? 0) + (settled()?.drop ?? 0) === 1);
      await broker.stop();
      const errors = logger.lines.filter(({ level }) => level === "error");
      expect(errors.filter(({ fields }) => fields.event !== "dropped")).toEqual([]);
      return { state: settled()?.ack === 1 ? "processed" : "dead", lastError };
    },
  };
}

/** Drizzle tells why only in the cause of its error. */
function saidBy(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? String(error) : `${error}: ${saidBy(cause)}`;
}
