// Imports what the package exports, without any driver installed, and says the names.
import * as intray from "intray";
import * as betterSqlite3 from "intray/better-sqlite3";
import * as bunSqlite from "intray/bun-sqlite";
import * as mariadb from "intray/mariadb";
import * as mssql from "intray/mssql";
import * as mysql2 from "intray/mysql2";
import * as nodeSqlite from "intray/node-sqlite";
import * as pg from "intray/pg";
import * as pglite from "intray/pglite";
import * as postgres from "intray/postgres";
import * as queuebox from "intray/queuebox";
import * as testing from "intray/testing";

const { IntrayError } = intray;
if (!(new IntrayError("CODE", "message") instanceof Error))
  throw new Error("IntrayError is no Error");
const statement = queuebox.inboxSql("postgresql", queuebox.defaultSchema).complete;
if (statement.params.join() !== "id,token") throw new Error(`params: ${statement.params}`);

const names = (door) =>
  Object.keys(door)
    .filter((name) => name !== "default")
    .sort();
const doors = {
  intray,
  testing,
  queuebox,
  pg,
  postgres,
  pglite,
  mysql2,
  mariadb,
  mssql,
  betterSqlite3,
  nodeSqlite,
  bunSqlite,
};
console.log(JSON.stringify(Object.entries(doors).map(([door, all]) => [door, names(all)])));
