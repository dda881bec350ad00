/**
 * Application locks (sp_getapplock): what excludes others where a row's lock cannot, and in servers that take
 * T-SQL and leave its lock hints out of account.
 *
 * A lock is the database's own: its name is compared by its bytes, whatever the collation, and nobody in
 * another database can have it. One of a transaction ends with it, and so with the session; one of a session
 * ends with that, or by sp_releaseapplock.
 */

/** A name of no more than the 255 characters that a lock's may have: longer ones are hashed. */
export function lockName(name: string): string {
  return `CONVERT(nvarchar(255), CASE WHEN DATALENGTH(${name}) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', ${name}), 2) ELSE ${name} END)`;
}

/** The name for a key of a service's own, which may be empty, as a name may not. */
export function keyLockName(key: string): string {
  return lockName(`COALESCE(NULLIF(${key}, N''), N'(no key)')`);
}

type Owner = "Session" | "Transaction";

/** Takes the lock `@lock` if nobody has it: `@granted` is then 0 or more. Waits for nobody. */
export function takeLock(owner: Owner): string {
  return `EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'${owner}', @LockTimeout = 0;`;
}

/** Gives the lock `@lock` back, which is held. */
export function giveLock(owner: Owner): string {
  return `EXEC sp_releaseapplock @Resource = @lock, @LockOwner = N'${owner}';`;
}

/** A batch as it would be if every lock were granted: it calls no procedure. For who looks at it and does not run it. */
export function withoutLocks(batch: string): string {
  return batch
    .replaceAll(/^EXEC (@\w+) = sp_(?:get|release)applock [^;\n]*;/gm, "SET $1 = 0;")
    .replaceAll(/^EXEC sp_releaseapplock [^;\n]*;/gm, "SET NOCOUNT ON;");
}
