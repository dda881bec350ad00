import pg from "pg";
import type { Connection, ConnectionSource } from "../../src/driver/connection.ts";
import { until } from "./until.ts";

/**
 * A source of connections as a user writes it by hand: connect, query, begin, commit, rollback and
 * release, and nothing of what is optional.
 */
export class HandmadeSource implements ConnectionSource {
  /** As one says that counts its connections, and lets nobody have more. */
  readonly max?: number;
  readonly #url: string;
  readonly #waiting: (() => void)[] = [];
  readonly #idle = new Set<pg.Client>();
  readonly #open = new Set<pg.Client>();
  #out = 0;

  constructor(url: string, max?: number) {
    this.#url = url;
    if (max !== undefined) this.max = max;
  }

  async connect(): Promise<Connection> {
    while (this.max !== undefined && this.#out >= this.max) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    const [idle] = this.#idle;
    // Counted before it is there: a close waits for it.
    this.#out++;
    if (idle === undefined) {
      try {
        return this.#hand(await this.#make());
      } catch (error) {
        this.#gone();
        throw error;
      }
    }
    this.#idle.delete(idle);
    return this.#hand(idle);
  }

  /** Waits for what is checked out, as a pool does. */
  async close(): Promise<void> {
    await until(() => this.#out === 0, { what: "every connection is released" });
    await Promise.all([...this.#open].map((client) => client.end()));
  }

  #gone(): void {
    this.#out--;
    this.#waiting.shift()?.();
  }

  async #make(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#url });
    const forget = () => {
      this.#idle.delete(client);
      this.#open.delete(client);
    };
    client.on("error", forget);
    client.on("end", forget);
    await client.connect();
    this.#open.add(client);
    return client;
  }

  #hand(client: pg.Client): Connection {
    let inTransaction = false;
    const query: Connection["query"] = async (text, params = []) => {
      const { rows, rowCount } = await client.query(text, [...params]);
      return { rows, rowCount: rowCount ?? 0 };
    };
    return {
      query,
      begin: async () => {
        inTransaction = true;
        await query("BEGIN");
      },
      commit: async () => {
        await query("COMMIT");
        inTransaction = false;
      },
      rollback: async () => {
        await query("ROLLBACK");
        inTransaction = false;
      },
      release: async () => {
        // Anything but a connection that is alive and outside a transaction is closed.
        const isFit = this.#open.has(client) && !inTransaction;
        if (isFit) this.#idle.add(client);
        this.#gone();
        if (!isFit) await client.end();
      },
    };
  }
}
