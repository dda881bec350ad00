import type { OpenedSource } from "./sources.ts";
import { until } from "./until.ts";
import { wordsOf } from "./words.ts";

/** A time that was read as text, as one again. */
const TYPES: Readonly<Record<string, string>> = { postgres: "timestamptz", sqlserver: "datetime2" };

/** Waits until the database's clock has gone on by so much. */
export async function timePasses(
  { dialect, query }: Pick<OpenedSource, "dialect" | "query">,
  ms: number,
): Promise<void> {
  const { later, now, text, truth } = wordsOf(dialect);
  const { rows } = await query<{ began: string }>(`SELECT ${text(now)} AS began`);
  const began = `CAST('${rows[0]?.began}' AS ${TYPES[dialect] ?? "CHAR(40)"})`;
  const isOver = truth(`${now} > ${later(began, ms)}`);
  await until(async () => {
    const answer = await query<{ is_over: unknown }>(`SELECT ${isOver} AS is_over`);
    return Boolean(answer.rows[0]?.is_over);
  });
}
