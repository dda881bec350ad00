/** What a test and the programs that it runs as processes say to each other. */
import type { InboxOptions } from "../../../src/queuebox/index.ts";
import type { TargetName } from "../../support/sources.ts";
import type { holderTables } from "./holder-tables.ts";

/** Of "sqlite file" the URL is its path. */
export type SourceKind = Exclude<TargetName, "pglite" | "sqlite in memory">;

/** Other processes reach the databases of these alone. */
export function isReached(name: TargetName): name is SourceKind {
  return name !== "pglite" && name !== "sqlite in memory";
}

/** How a worker program is set up. */
export interface WorkerSettings {
  readonly url: string;
  readonly kind: SourceKind;
  readonly connections: number;
  readonly options: Pick<
    InboxOptions,
    | "abandon"
    | "batchSize"
    | "leaseMs"
    | "maxConcurrency"
    | "pollIntervalMs"
    | "shutdownGraceMs"
    | "source"
  >;
  readonly handler: HandlerSettings;
}

/** What the worker's handler does between its effect and its end. */
export interface HandlerSettings {
  /** `hold`: waits until the test says `go` for the message's key, whatever its signal says. */
  readonly wait: "none" | "hold" | { readonly randomMs: number };
  /** With `randomMs`: gives up when the signal aborts. */
  readonly heedsSignal?: boolean;
  /** Writes the message's key into `effects`. */
  readonly writes: boolean;
}

/** What a worker program tells. Times are the host's monotonic nanoseconds, the same for all processes. */
export type WorkerSays =
  | { readonly say: "ready" | "stopped" }
  | { readonly say: "started"; readonly key: string; readonly attempt: number }
  | ({ readonly say: "ended" } & HandlerWindow)
  | { readonly say: "log"; readonly event: string; readonly id: unknown };

/** When a handler ran. */
export interface HandlerWindow {
  readonly key: string;
  readonly aggregate: string | null;
  readonly from: string;
  readonly to: string;
  readonly wasAborted: boolean;
}

/** What a test tells a worker program. */
export type WorkerHears = { readonly go: string } | { readonly stop: true };

/** How a program with a broker is set up. */
export type BrokerSettings = Pick<WorkerSettings, "connections" | "kind" | "url">;

/** How a program is set up whose broker holds its rows. */
export interface HolderSettings extends BrokerSettings {
  readonly table: keyof typeof holderTables;
  readonly leaseMs: number;
}

export interface HolderSays {
  readonly say: "holds";
  readonly message: string;
  readonly attempt: number | undefined;
}

/** How a program of producers is set up: each has a connection of its own. */
export interface ProducerSettings {
  readonly url: string;
  readonly source: string;
  readonly producers: number;
  readonly aggregates: number;
  readonly messages: number;
  /** Inserts stay uncommitted for a random time up to this. */
  readonly holdMs: number;
  /** Producers pause while more than this many messages wait. */
  readonly mostWaiting: number;
  /** `own`: producer n writes aggregate n alone, one message after the other. */
  readonly aggregate: "any" | "own";
}

export type ProducerSays = { readonly say: "done"; readonly messages: number };
