/** What a statement reads: counts of pages (buffers) from EXPLAIN, which no machine's mood changes. */

/** The one thing that is needed of a connection; a session of its own, as PREPARE lives in it. */
export interface ExplainSession {
  query(text: string): Promise<{ rows: readonly Record<string, unknown>[] }>;
}

/** How a prepared statement is planned. */
export type PlanMode = "force_custom_plan" | "force_generic_plan";

export const planModes: readonly PlanMode[] = ["force_custom_plan", "force_generic_plan"];

/** A node of a plan, as EXPLAIN's JSON has it. */
export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly "Temp Written Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

export interface Explained {
  /** Pages of tables and indexes that the execution read, in memory or not; planning is left out. */
  readonly buffers: number;
  /** Rows that the statement answered. */
  readonly rows: number;
  /** Rows that it wrote. */
  readonly written: number;
  readonly executionMs: number;
  readonly planningMs: number;
  /** Whether the plan was compiled: more than a claim takes altogether. */
  readonly compiled: boolean;
  /** The tables that were read from end to end. */
  readonly scanned: readonly string[];
  /** The indexes in the plan, each once. */
  readonly indexes: readonly string[];
  readonly plan: PlanNode;
}

/**
 * Prepares the statement, runs it with EXPLAIN in a transaction that is rolled back, and answers
 * what it read. The session must be outside a transaction.
 */
export async function explain(
  session: ExplainSession,
  statement: { readonly text: string },
  values: readonly (string | number | null)[],
  mode: PlanMode,
  keep: "rollback" | "commit" = "rollback",
): Promise<Explained> {
  await session.query("BEGIN ISOLATION LEVEL READ COMMITTED");
  try {
    await session.query(`SET LOCAL plan_cache_mode = ${mode}`);
    await session.query(`PREPARE explained AS ${statement.text}`);
    const given = values.map(literal).join(", ");
    const { rows } = await session.query(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE explained${given === "" ? "" : `(${given})`}`,
    );
    return read(rows[0]?.["QUERY PLAN"]);
  } finally {
    await session.query(keep === "commit" ? "COMMIT" : "ROLLBACK");
    await session.query("DEALLOCATE ALL");
  }
}

function read(answer: unknown): Explained {
  const parsed: unknown = typeof answer === "string" ? JSON.parse(answer) : answer;
  const explained: unknown = Array.isArray(parsed) ? parsed[0] : undefined;
  if (!isExplained(explained)) throw new Error(`EXPLAIN answered ${JSON.stringify(answer)}`);
  const plan = explained.Plan;
  const nodes = [...walk(plan)];
  const scans = nodes.filter((node) => node["Node Type"] === "Seq Scan");
  const writes = nodes.filter((node) => node["Node Type"] === "ModifyTable");
  return {
    buffers: (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0),
    rows: plan["Actual Rows"] ?? 0,
    written: writes.reduce((sum, node) => sum + (node["Actual Rows"] ?? 0), 0),
    executionMs: explained["Execution Time"],
    planningMs: explained["Planning Time"],
    compiled: explained.JIT !== undefined,
    scanned: unique(scans.map((node) => node["Relation Name"])),
    indexes: unique(nodes.map((node) => node["Index Name"])),
    plan,
  };
}

interface ExplainJson {
  readonly Plan: PlanNode;
  readonly "Execution Time": number;
  readonly "Planning Time": number;
  readonly JIT?: unknown;
}

function isExplained(value: unknown): value is ExplainJson {
  return (
    typeof value === "object" && value !== null && "Plan" in value && "Execution Time" in value
  );
}

function* walk(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* walk(child);
}

function unique(names: readonly (string | undefined)[]): string[] {
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}

function literal(value: string | number | null): string {
  if (value === null) return "NULL";
  return typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;
}
