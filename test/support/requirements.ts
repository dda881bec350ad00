/** The databases of the test matrix. A name in INTRAY_REQUIRE must be there, or the run fails. */
export const DATABASES = ["postgres", "pglite", "sqlite", "mariadb", "mysql", "sqlserver"] as const;

export type DatabaseName = (typeof DATABASES)[number];

/** Reads INTRAY_REQUIRE: names with commas between; `all` stands for every database. */
export function requiredDatabases(setting: string | undefined): Set<DatabaseName> {
  return namedDatabases("INTRAY_REQUIRE", setting);
}

/** Reads INTRAY_ONLY: the databases that the run is about; nothing stands for every one. */
export function chosenDatabases(setting: string | undefined): Set<DatabaseName> {
  const chosen = namedDatabases("INTRAY_ONLY", setting);
  return chosen.size === 0 ? new Set(DATABASES) : chosen;
}

/** Reads INTRAY_MYSQL: whether the run is to have a MySQL of its own, out of Debian's packages. */
export function wantsOwnMysql(setting: string | undefined): boolean {
  if (setting === undefined || setting === "") return false;
  if (setting === "packages") return true;
  throw new Error(`INTRAY_MYSQL is "${setting}"; it takes packages, or nothing`);
}

function namedDatabases(variable: string, setting: string | undefined): Set<DatabaseName> {
  const named = new Set<DatabaseName>();
  for (const part of (setting ?? "").split(",")) {
    const name = part.trim();
    if (name === "") continue;
    if (name === "all") {
      for (const database of DATABASES) named.add(database);
    } else if (isDatabaseName(name)) {
      named.add(name);
    } else {
      throw new Error(
        `${variable} names "${name}"; it takes ${DATABASES.join(", ")} (with commas between) or all`,
      );
    }
  }
  return named;
}

function isDatabaseName(name: string): name is DatabaseName {
  return DATABASES.some((database) => database === name);
}
