import { createHash } from "node:crypto";

/**
 * The names of prepared statements on one connection. A name is made of the statement's text, so it
 * means the same in every process and cannot clash with a name of the service's own.
 */
export class PgStatementNames {
  readonly #parsed: Record<string, string | undefined>;
  /** How often a text's name had to be given up on this connection. */
  readonly #retired = new Map<string, number>();

  constructor(parsedStatements: Record<string, string | undefined>) {
    this.#parsed = parsedStatements;
  }

  nameOf(text: string): string {
    const base = baseName(text);
    const retired = this.#retired.get(text);
    return retired === undefined ? base : `${base}_${retired}`;
  }

  /**
   * Tells about the error of a prepared statement. Where the server's list and ours differ (somebody
   * sent DEALLOCATE ALL), or the statement's plan no longer fits its table, the name is given up, so
   * that the next try prepares it anew.
   */
  failed(text: string, error: Error): void {
    if (!("code" in error) || typeof error.code !== "string" || !STALE.has(error.code)) return;
    delete this.#parsed[this.nameOf(text)];
    this.#retired.set(text, (this.#retired.get(text) ?? 0) + 1);
  }
}

/**
 * 26000: no statement of that name. 42P05: one exists already. 0A000: the table changed beneath it
 * ("cached plan must not change result type").
 */
const STALE = new Set(["26000", "42P05", "0A000"]);

const baseNames = new Map<string, string>();

/** Texts are built once per subscription; the bound is for a caller that builds them anew each time. */
const MOST_NAMES_KEPT = 1_000;

function baseName(text: string): string {
  let name = baseNames.get(text);
  if (name === undefined) {
    name = `intray_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
    if (baseNames.size >= MOST_NAMES_KEPT) baseNames.clear();
    baseNames.set(text, name);
  }
  return name;
}
