// The same as smoke.mjs, for services that are still CommonJS.
const doors = {
  intray: require("intray"),
  testing: require("intray/testing"),
  queuebox: require("intray/queuebox"),
  pg: require("intray/pg"),
  postgres: require("intray/postgres"),
  pglite: require("intray/pglite"),
  mysql2: require("intray/mysql2"),
  mariadb: require("intray/mariadb"),
  mssql: require("intray/mssql"),
  betterSqlite3: require("intray/better-sqlite3"),
  nodeSqlite: require("intray/node-sqlite"),
  bunSqlite: require("intray/bun-sqlite"),
};

const { inboxSql, defaultSchema } = doors.queuebox;
const statement = inboxSql("postgresql", defaultSchema).complete;
if (statement.params.join() !== "id,token") throw new Error(`params: ${statement.params}`);

const names = (door) => Object.keys(door).sort();
console.log(JSON.stringify(Object.entries(doors).map(([door, all]) => [door, names(all)])));
