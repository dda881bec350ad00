import { expect, test } from "vitest";
import { bind } from "../../src/dialect/bind.ts";
import type { Connection, QueryResult } from "../../src/driver/connection.ts";
import { runSteps } from "../../src/driver/run-steps.ts";

/** Answers each statement with its text and parameters, twice over. */
class Echo implements Connection {
  readonly sent: string[] = [];

  async query<Row>(text: string, params: readonly unknown[] = []): Promise<QueryResult<Row>> {
    this.sent.push(`${text} ${params.join()}`);
    const rows = [2, 1].map((n) => ({ text, n }));
    return { rows: rows as Row[], rowCount: 2 };
  }
  async begin(): Promise<void> {
    this.sent.push("begin");
  }
  async commit(): Promise<void> {
    this.sent.push("commit");
  }
  async rollback(): Promise<void> {}
  release(): void {}
}

const part = (text: string) => ({ text, params: ["id"] });

test("a statement's parts run around it, and its own answer counts", async () => {
  const connection = new Echo();
  const moved = { ...part("DELETE"), before: [part("INSERT")], after: [part("COUNT")] };
  const results = await runSteps<{ text: string }>(connection, [
    { kind: "begin", text: "BEGIN", afterBegin: "SET" },
    bind(part("SELECT"), { id: 1 }),
    bind(moved, { id: 2 }),
    bind(part("UPDATE"), { id: 3 }),
    { kind: "commit" },
  ]);
  expect(connection.sent).toEqual([
    "begin",
    "SET ",
    "SELECT 1",
    "INSERT 2",
    "DELETE 2",
    "COUNT 2",
    "UPDATE 3",
    "commit",
  ]);
  expect(results.map(({ rows }) => rows[0]?.text)).toEqual([
    undefined,
    "SELECT",
    "DELETE",
    "UPDATE",
    undefined,
  ]);
});

test("rows that come in no order are put in the statement's own", async () => {
  const statement = {
    ...part("UPDATE"),
    order: (a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>) =>
      Number(a.n) - Number(b.n),
  };
  const [result] = await runSteps<{ n: number }>(new Echo(), [bind(statement, { id: 1 })]);
  expect(result?.rows.map(({ n }) => n)).toEqual([1, 2]);
});
