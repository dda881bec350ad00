import type { Verdict } from "../form/reaction.ts";

/** A row that the database has settled. */
export interface SettledRow {
  readonly queue: string;
  readonly id: string;
  readonly attempt: number | undefined;
  readonly outcome: Verdict["kind"];
  readonly reason?: unknown;
}

export type OnSettled = (row: SettledRow) => void;

/** A broker's option for `intray/testing` alone: a key that nobody meets by chance. */
export const onSettled: unique symbol = Symbol("onSettled");
