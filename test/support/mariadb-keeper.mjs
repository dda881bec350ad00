/** Holds a MariaDB for a test run: see server-keeper.mjs. */
import { mariadbPrograms } from "./mariadb-programs.mjs";
import { keepServer } from "./server-keeper.mjs";

await keepServer("mariadb", mariadbPrograms);
