import type { ConnectionSource } from "../../driver/connection.ts";

/** A database that a command has open. */
export interface Database {
  readonly source: ConnectionSource;
  /** How to call it, without its secrets. */
  readonly name: string;
  close(): Promise<void>;
}

export interface OpenSettings {
  /** The most connections. */
  readonly max: number;
  /** Where the path of a file starts. */
  readonly folder: string;
  /**
   * How sessions are set where that changes values, as a time zone or a lenient mode does: "exact", or "server": as
   * the server gives them to services.
   */
  readonly sessions: "exact" | "server";
}

/** What a driver has open. */
export type Opened = Omit<Database, "name">;

/** A kind of database that the commands open. */
export interface DatabaseKind {
  /** The name of its dialect. */
  readonly dialect: string;
  /** What its URLs look like, as an error says it. */
  readonly urls: readonly string[];
  isUrl(url: string): boolean;
  /** Its name in errors; default: the URL, without its secrets. */
  nameOf?(url: string, settings: OpenSettings): string;
  /**
   * Opens it through the driver that is installed. Whoever calls sees whether it answers.
   *
   * @throws CliError where there is no driver; else what the driver fails with.
   */
  open(url: string, settings: OpenSettings): Promise<Opened>;
}

/** A server that does not answer is not waited for longer than this. */
export const CONNECT_MS = 10_000;
