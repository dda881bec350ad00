/** The databases of the test matrix. A name in INTRAY_REQUIRE must be there, or the run fails. */
export const DATABASES = ["postgres", "pglite", "sqlite"] as const;

export type DatabaseName = (typeof DATABASES)[number];

/** Reads INTRAY_REQUIRE: names with commas between; `all` stands for every database. */
export function requiredDatabases(setting: string | undefined): Set<DatabaseName> {
  const required = new Set<DatabaseName>();
  for (const part of (setting ?? "").split(",")) {
    const name = part.trim();
    if (name === "") continue;
    if (name === "all") {
      for (const database of DATABASES) required.add(database);
    } else if (isDatabaseName(name)) {
      required.add(name);
    } else {
      throw new Error(
        `INTRAY_REQUIRE names "${name}"; it takes ${DATABASES.join(", ")} (with commas between) or all`,
      );
    }
  }
  return required;
}

function isDatabaseName(name: string): name is DatabaseName {
  return DATABASES.some((database) => database === name);
}
