import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A TCP proxy before a database, for faults of the network; a test tells it what goes wrong. */
export class FaultyNetwork {
  readonly #upstream: { readonly host: string; readonly port: number };
  readonly #server: Server;
  readonly #connections = new Set<ProxiedConnection>();
  readonly #rules: LossRule[] = [];
  #opened = 0;
  #isStalled = false;
  /** Milliseconds that everything takes in each direction. */
  latencyMs = 0;
  /** New connections are closed at once, as where nothing listens. */
  refuses = false;

  private constructor(upstream: { readonly host: string; readonly port: number }) {
    this.#upstream = upstream;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Listens on a free port of 127.0.0.1, before the server of a database's URL. */
  static async before(url: string): Promise<FaultyNetwork> {
    const { hostname, port } = new URL(url);
    const proxy = new FaultyNetwork({ host: hostname, port: Number(port === "" ? "5432" : port) });
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** The database's URL by way of the proxy. */
  urlOf(databaseUrl: string): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy is closed");
    const url = new URL(databaseUrl);
    url.hostname = "127.0.0.1";
    url.port = String(address.port);
    return url.href;
  }

  get connections(): readonly ProxiedConnection[] {
    return [...this.#connections];
  }

  /** Connections that were ever asked for. */
  get opened(): number {
    return this.#opened;
  }

  /** Round trips of all connections, also of those that are gone. */
  get roundTrips(): number {
    return this.#roundTrips + sum(this.connections.map(({ roundTrips }) => roundTrips));
  }

  #roundTrips = 0;

  /** From now on nothing passes, in neither direction, and nobody is told. */
  stall(): void {
    this.#isStalled = true;
    for (const connection of this.#connections) connection.stall();
  }

  /** What was held back passes, and all that follows. */
  resume(): void {
    this.#isStalled = false;
    for (const connection of this.#connections) connection.resume();
  }

  /** Closes connections: all, or those that a test picks. */
  cut(which: (connection: ProxiedConnection) => boolean = () => true): void {
    for (const connection of this.#connections) {
      if (which(connection)) connection.cut();
    }
  }

  /**
   * Once: on the connection that carried `mark` to the server, what comes up with `request` in it, or with one of
   * them, meets its fate, see {@link Loss}. Resolves when it has.
   */
  lose(
    loss: Loss,
    { mark, request }: { readonly mark: string; readonly request: string | readonly string[] },
  ): Promise<void> {
    return new Promise((resolve) => {
      this.#rules.push({ loss, mark, requests: [request].flat(), done: resolve });
    });
  }

  async close(): Promise<void> {
    this.cut();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(client: Socket): void {
    this.#opened += 1;
    if (this.refuses) {
      client.destroy();
      return;
    }
    const connection = new ProxiedConnection(client, connect(this.#upstream), {
      latency: () => this.latencyMs,
      lossOf: (chunk, seen) => this.#takeRule(chunk, seen),
      ended: () => {
        if (this.#connections.delete(connection)) this.#roundTrips += connection.roundTrips;
      },
    });
    this.#connections.add(connection);
    if (this.#isStalled) connection.stall();
  }

  #takeRule(chunk: string, connection: ProxiedConnection): LossRule | undefined {
    const index = this.#rules.findIndex(
      ({ mark, requests }) =>
        connection.saw(mark) && requests.some((request) => holds(chunk, request)),
    );
    return index < 0 ? undefined : this.#rules.splice(index, 1)[0];
  }
}

/**
 * What becomes of a request: `reply-cut`: the server gets it, its reply is lost and the connection
 * closed; `reply-stalled`: the server gets it, and the client never hears anything again, not even an
 * end; `request-cut`: the server never gets it, and the connection is closed.
 */
export type Loss = "reply-cut" | "reply-stalled" | "request-cut";

/** PostgreSQL's ReadyForQuery outside a transaction. */
const READY_AND_IDLE = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Whether bytes hold a text, as it is or in the UTF-16 that SQL Server is spoken to in. */
function holds(bytes: string, text: string): boolean {
  return bytes.includes(text) || bytes.includes(Buffer.from(text, "utf16le").toString("latin1"));
}

/** Whether the server says that no transaction is open: what it was asked has taken effect. */
function isIdle(reply: Buffer): boolean {
  if (reply.includes(READY_AND_IDLE)) return true;
  // Of SQL Server, which is asked for one thing at a time: a packet of its answer, with its length.
  const isAnswer = reply.length >= 8 && reply[0] === 4 && reply.readUInt16BE(2) === reply.length;
  if (isAnswer) return true;
  // An OK packet of MySQL's, first in its answer: its counts are a byte each, then come the flags.
  const isOk = reply.length >= 11 && reply[3] === 1 && reply[4] === 0;
  return isOk && (reply.readUInt16LE(7) & 1) === 0;
}

interface LossRule {
  readonly loss: Loss;
  readonly mark: string;
  readonly requests: readonly string[];
  done(): void;
}

interface ProxiedSettings {
  latency(): number;
  lossOf(chunk: string, connection: ProxiedConnection): LossRule | undefined;
  ended(): void;
}

/** One connection through the proxy. */
export class ProxiedConnection {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #settings: ProxiedSettings;
  #lastWasClient = false;
  #isStalled = false;
  /** One side has ended; whoever is stalled hears of it when it goes on. */
  #hasEnded = false;
  #seen = "";
  /** Up: what the server gets; down: what the client gets. A reply that is lost goes nowhere. */
  #loss: LossRule | undefined;
  /** Changes of direction from the server's word to the client's: what a round trip costs. */
  roundTrips = 0;

  constructor(client: Socket, server: Socket, settings: ProxiedSettings) {
    this.#client = client;
    this.#server = server;
    this.#settings = settings;
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on("error", () => this.#ended());
    }
    client.on("data", (chunk: Buffer) => this.#up(chunk));
    server.on("data", (chunk: Buffer) => this.#down(chunk));
    client.on("close", () => this.#ended());
    server.on("close", () => this.#serverClosed());
  }

  /** Whether a text went to the server. */
  saw(text: string): boolean {
    return holds(this.#seen, text);
  }

  stall(): void {
    this.#isStalled = true;
    this.#client.pause();
    this.#server.pause();
  }

  resume(): void {
    this.#isStalled = false;
    if (this.#hasEnded) this.cut();
    this.#client.resume();
    this.#server.resume();
  }

  cut(): void {
    this.#client.destroy();
    this.#server.destroy();
    this.#settings.ended();
  }

  #up(chunk: Buffer): void {
    if (!this.#lastWasClient) this.roundTrips += 1;
    this.#lastWasClient = true;
    const text = chunk.toString("latin1");
    this.#seen += text;
    this.#loss ??= this.#settings.lossOf(text, this);
    if (this.#loss?.loss === "request-cut") {
      this.cut();
      this.#loss.done();
      return;
    }
    this.#later(() => this.#server.write(chunk));
  }

  #down(chunk: Buffer): void {
    this.#lastWasClient = false;
    if (this.#loss === undefined) {
      this.#later(() => this.#client.write(chunk));
      return;
    }
    if (!isIdle(chunk)) return;
    if (this.#loss.loss === "reply-cut") this.cut();
    this.#loss.done();
  }

  #serverClosed(): void {
    // A client that hears nothing any more does not hear of the end either.
    if (this.#loss?.loss !== "reply-stalled") this.#ended();
  }

  #ended(): void {
    this.#hasEnded = true;
    if (!this.#isStalled) this.cut();
  }

  #later(act: () => void): void {
    const latencyMs = this.#settings.latency();
    if (latencyMs > 0) setTimeout(act, latencyMs);
    else act();
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
