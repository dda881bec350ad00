import type { FormName, IsolationLevel, TransactionMode } from "../table/description.ts";

/** What the types know of a database: what its dialect's features say at run time. */
export interface DatabaseFacts {
  readonly forms: readonly FormName[];
  readonly isolations: readonly IsolationLevel[];
  /** Those that a row lock claim opens; left out: all of them. */
  readonly rowLockIsolations?: readonly IsolationLevel[];
  readonly modes: readonly TransactionMode[];
  readonly listenNotify: boolean;
}

/** The databases by the names of their dialects; what is asked of one that is not here, the run time tells. */
export interface Databases {
  readonly postgres: {
    readonly forms: readonly ["rowLock", "lease", "advisoryLock"];
    readonly isolations: readonly ["readCommitted", "repeatableRead", "serializable"];
    readonly modes: readonly [];
    readonly listenNotify: true;
  };
  /** MySQL, and MariaDB. */
  readonly mysql: {
    readonly forms: readonly ["rowLock", "lease", "advisoryLock"];
    readonly isolations: readonly [
      "readUncommitted",
      "readCommitted",
      "repeatableRead",
      "serializable",
    ];
    readonly modes: readonly [];
    readonly listenNotify: false;
  };
  readonly sqlite: {
    readonly forms: readonly ["lease", "advisoryLock"];
    readonly isolations: readonly [];
    readonly modes: readonly ["deferred", "immediate", "exclusive"];
    readonly listenNotify: false;
  };
  /** SQL Server, and Azure SQL. */
  readonly sqlserver: {
    readonly forms: readonly ["rowLock", "lease", "advisoryLock"];
    readonly isolations: readonly [
      "readUncommitted",
      "readCommitted",
      "repeatableRead",
      "serializable",
      "snapshot",
    ];
    readonly rowLockIsolations: readonly ["readCommitted", "repeatableRead"];
    readonly modes: readonly [];
    readonly listenNotify: false;
  };
}

/** The facts of a database, where the types know which it is and know it. */
export type FactsOfDatabase<Name extends string> = string extends Name
  ? undefined
  : [Name] extends [keyof Databases]
    ? Databases[Name]
    : undefined;
