import install from "../mssql/install.ts";
import { DATABASE_PREFIX } from "./borrowed-postgres.ts";
import type { StartedServer } from "./kept-server.ts";
import { dropMssqlDatabase, type MssqlPool, openMssqlPool } from "./mssql-pool.ts";

/** The server at MSSQL_URL; there is none that starts by itself. */
export async function findMssql(run: string): Promise<StartedServer> {
  const url = process.env["MSSQL_URL"];
  if (url === undefined || url === "") return missing("MSSQL_URL names no SQL Server");
  await install();
  // One connection, which holds the lock below.
  const pool = openMssqlPool(url, { max: 1, min: 1 });
  try {
    await pool.connect();
    return await borrowMssql(pool, url, run);
  } catch (error) {
    if (pool.connected) await pool.close();
    return missing(`MSSQL_URL does not answer: ${String(error)}`);
  }
}

function missing(why: string): StartedServer {
  return { server: { missing: why }, stop: () => Promise.resolve() };
}

/**
 * A server that is not ours and outlives the run. A lock named as the run is held all along: databases of a run
 * whose lock is free are leftovers of a run that was killed, and are dropped.
 */
async function borrowMssql(pool: MssqlPool, url: string, run: string): Promise<StartedServer> {
  const ask = async (text: string, value: string): Promise<string[]> => {
    const request = pool.request();
    request.input("value", value);
    const { recordsets } = await request.query(text);
    return (recordsets.at(-1) ?? []).map((row) => String(Object.values(Object(row))[0]));
  };
  const databases = (prefix: string) =>
    ask("SELECT name FROM sys.databases WHERE LEFT(name, LEN(@value)) = @value", prefix);
  const drop = async (names: readonly string[]) => {
    for (const name of names) await dropMssqlDatabase(pool, name);
  };
  await ask(
    "EXEC sp_getapplock @Resource = @value, @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 0",
    run,
  );
  for (const name of await databases(DATABASE_PREFIX)) {
    // Its own session would have it again.
    if (name.startsWith(run)) continue;
    const [granted] = await ask(
      `DECLARE @granted int;
       EXEC @granted = sp_getapplock @Resource = @value, @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 0;
       IF @granted >= 0 EXEC sp_releaseapplock @Resource = @value, @LockOwner = 'Session';
       SELECT @granted`,
      name.slice(0, run.length),
    );
    if (Number(granted) >= 0) await drop([name]);
  }
  return {
    server: { url },
    stop: async () => {
      await drop(await databases(run));
      await pool.close();
    },
  };
}
