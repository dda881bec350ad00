import { Broker, type ConnectionSource } from "intray";
import { fromMssql, type GuardedMssqlTransaction } from "intray/mssql";
import * as queuebox from "intray/queuebox";
import sql, { ConnectionPool } from "mssql";

const pool = new sql.ConnectionPool({ server: "localhost", pool: { max: 10 } });

export const source: ConnectionSource<"sqlserver"> = fromMssql(sql, pool);
export const same: ConnectionSource<"sqlserver"> = queuebox.fromMssql(
  sql,
  new ConnectionPool("..."),
);
export const broker: unknown = new Broker(fromMssql(sql, await sql.connect("...")));

/** What a handler does with its client, whose own type is narrower than the module's. */
export async function handle(client: unknown): Promise<unknown> {
  const { recordset } = await new sql.Request(client as sql.Transaction)
    .input("id", sql.BigInt, 1n)
    .query<{ id: string }>("SELECT @id AS id");
  return recordset[0]?.id;
}

export async function nested(client: GuardedMssqlTransaction): Promise<void> {
  await client.begin();
  await client.request().query("SELECT 1");
  await client.rollback();
}

// @ts-expect-error the module is missing
fromMssql(pool);
// @ts-expect-error a configuration is no pool
fromMssql(sql, { server: "localhost" });
