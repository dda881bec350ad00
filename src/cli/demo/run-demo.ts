import { fileURLToPath } from "node:url";
import { printJson, printLine } from "../output.ts";
import { PATIENCE_S } from "./counts.ts";
import { type DemoDatabase, type Engine, openServer, startEmbedded } from "./demo-database.ts";
import { loadMessages } from "./load-messages.ts";
import { type MessageLine, readMessages } from "./message-file.ts";
import { showProgress } from "./progress.ts";
import { createShop, type Shop } from "./shop.ts";
import { printSummary, summarize, summaryJson } from "./summary.ts";
import { work } from "./work.ts";

export interface DemoSettings {
  /** A real server; undefined: an embedded one. */
  readonly url: string | undefined;
  readonly engine: Engine;
  /** The user's own messages. */
  readonly input: string | undefined;
  readonly keep: boolean;
  readonly json: boolean;
}

/** Beside this module in the sources and beside the bundle: the build copies it. */
const ORDERS = fileURLToPath(new URL("./cli-demo-orders.ndjson", import.meta.url));

/** The demo from its start to its summary; `stop` ends it early, in good order. */
export async function runDemo(settings: DemoSettings, stop: AbortSignal): Promise<void> {
  const tell = settings.json ? () => {} : printLine;
  const messages =
    settings.input === undefined
      ? await readMessages(ORDERS, "cli-demo-orders.ndjson")
      : await readMessages(settings.input);
  if (settings.url === undefined) tell("starting an embedded database");
  const database =
    settings.url === undefined
      ? await startEmbedded(settings.engine, stop, tell)
      : await openServer(settings.url);
  try {
    tell(`on ${database.name}`);
    await withShop(database, settings, tell, (shop) =>
      playThrough(shop, messages, settings, tell, stop),
    );
  } finally {
    await database.close();
  }
}

async function withShop(
  database: DemoDatabase,
  { keep }: DemoSettings,
  tell: (text: string) => void,
  use: (shop: Shop) => Promise<void>,
): Promise<void> {
  const shop = await createShop(database);
  tell(`made the tables ${shop.name}.inbox and ${shop.name}.orders`);
  try {
    await use(shop);
  } catch (error) {
    // What went wrong first is what is told; a database that is gone cannot be tidied up.
    if (!keep) await shop.drop().catch(() => tell(`not dropped: the schema ${shop.name}`));
    throw error;
  }
  if (keep) {
    tell(`\nkept: DROP SCHEMA ${shop.name} CASCADE removes it`);
    return;
  }
  await shop.drop();
  if (database.kind === "server") tell(`\ndropped the schema ${shop.name}`);
}

async function playThrough(
  shop: Shop,
  messages: readonly MessageLine[],
  { json, keep }: DemoSettings,
  tell: (text: string) => void,
  stop: AbortSignal,
): Promise<void> {
  const loaded = await loadMessages(shop, messages, stop);
  const duplicates = messages.length - loaded;
  tell(`loaded ${loaded} messages of ${messages.length} lines; ${duplicates} are duplicates`);
  const progress = showProgress(loaded, json);
  const startedAt = performance.now();
  try {
    const sources = [...new Set(messages.map(({ source }) => source))];
    await work(shop, sources, progress, stop);
  } finally {
    progress.stop();
  }
  const elapsedMs = Math.round(performance.now() - startedAt);
  const summary = await summarize(shop);
  const isStopped = stop.aborted && summary.counts.waiting > 0;
  if (json) {
    printJson({
      database: { kind: shop.database.kind, schema: shop.name, kept: keep },
      lines: messages.length,
      duplicates,
      loaded,
      ...summaryJson(summary),
      elapsedMs,
      stopped: isStopped,
    });
    return;
  }
  if (isStopped) tell("stopped before the end");
  else if (summary.counts.waiting > 0) {
    tell(`${summary.counts.waiting} messages are due in more than ${PATIENCE_S} s: left waiting`);
  }
  printSummary(summary, duplicates);
  printLine(`\nin ${elapsedMs} ms`);
}
