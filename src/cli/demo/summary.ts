import { sanitize } from "../../redact.ts";
import { ask } from "../database/ask.ts";
import { type Json, rawJson } from "../json-text.ts";
import { type Column, shortened } from "../output.ts";
import { type Counts, readCounts } from "./counts.ts";
import { printOutcomes, printRows } from "./print-tables.ts";
import type { Shop } from "./shop.ts";

/** What came of it all, read back from the database alone. */
export interface Summary {
  readonly counts: Counts;
  /** Messages that failed at least once, the dead ones first. */
  readonly troubled: readonly TroubledRow[];
  readonly orders: readonly OrderRow[];
}

interface TroubledRow {
  readonly id: string;
  readonly key: string;
  readonly aggregate: string | null;
  readonly state: string;
  readonly attempt: number;
  readonly error: string | null;
}

interface OrderRow {
  readonly id: string;
  readonly status: string;
  readonly messages: number;
  readonly total: string;
}

export async function summarize(shop: Shop): Promise<Summary> {
  const { source } = shop.database;
  const troubled = await ask<TroubledRow>(source, {
    text: `SELECT id::text AS id, idempotency_key AS key, aggregate_id AS aggregate, state, attempt, last_error AS error
FROM ${shop.inbox.table} WHERE attempt > 0 OR state = 'dead'
ORDER BY state = 'dead' DESC, created_at, id`,
    params: [],
  });
  const orders = await ask<OrderRow>(source, {
    text: `SELECT id, status, messages, total::text AS total FROM ${shop.name}.orders ORDER BY id`,
    params: [],
  });
  return { counts: await readCounts(shop), troubled: troubled.rows, orders: orders.rows };
}

export function summaryJson({ counts, orders, troubled }: Summary): {
  readonly [key: string]: Json;
} {
  return {
    processed: counts.processed,
    retried: counts.retried,
    dead: counts.dead,
    waiting: counts.waiting,
    failed: troubled.map((row) => ({
      id: row.id,
      idempotencyKey: row.key,
      aggregateId: row.aggregate,
      state: row.state,
      attempt: row.attempt,
      lastError: row.error === null ? null : sanitize(row.error),
    })),
    orders: orders.map((row) => ({
      id: row.id,
      status: row.status,
      messages: row.messages,
      total: rawJson(row.total),
    })),
  };
}

export function printSummary({ counts, orders, troubled }: Summary, duplicates: number): void {
  printOutcomes(counts, [["duplicates, left out", duplicates]]);
  if (troubled.length > 0) printRows("\nRetried and dead", TROUBLED, troubled);
  printRows("\nOrders, as the handler wrote them", ORDERS, orders);
}

const TROUBLED: readonly Column<TroubledRow>[] = [
  { title: "key", text: ({ key }) => shortened(key, 30) },
  { title: "aggregate", text: ({ aggregate }) => shortened(aggregate ?? "-", 20) },
  { title: "state", text: ({ state }) => state },
  {
    title: "failed",
    text: ({ attempt, state }) => `${attempt + (state === "dead" ? 1 : 0)}x`,
    align: "right",
  },
  { title: "last error", text: ({ error }) => shortened(sanitize(error ?? "-"), 70) },
];

const ORDERS: readonly Column<OrderRow>[] = [
  { title: "order", text: ({ id }) => shortened(id, 30) },
  { title: "status", text: ({ status }) => shortened(status, 20) },
  { title: "messages", text: ({ messages }) => String(messages), align: "right" },
  { title: "total", text: ({ total }) => moneyText(total), align: "right" },
];

/** Two digits behind the point at least, by text: a total may have more digits than a double. */
function moneyText(total: string): string {
  const [whole = "", cents = ""] = total.split(".");
  return `${whole}.${cents.padEnd(2, "0")}`;
}
