/** Holds a MySQL for a test run: see server-keeper.mjs. */
import { mysqlPrograms } from "./mysql-programs.mjs";
import { keepServer } from "./server-keeper.mjs";

await keepServer("mysql", mysqlPrograms);
