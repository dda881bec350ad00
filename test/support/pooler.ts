import { createServer, type Server, type Socket } from "node:net";
import pg from "pg";

/**
 * A pooler in transaction mode, as PgBouncer is one: clients connect to it, and each of their transactions
 * goes to whichever session of the server has become idle last. It makes up the process numbers that it tells.
 */
export class TransactionPooler {
  readonly #server: Server;
  readonly #sessions: Session[];
  readonly #idle: Session[];
  readonly #waiting: ((session: Session) => void)[] = [];
  readonly #clients = new Set<Socket>();
  readonly #database: string;

  private constructor(server: Server, sessions: Session[], database: string) {
    this.#server = server;
    this.#sessions = sessions;
    this.#idle = [...sessions];
    this.#database = database;
    server.on("connection", (socket) => {
      this.#clients.add(socket);
      socket.on("close", () => this.#clients.delete(socket));
      new PooledClient(socket, this);
    });
  }

  /** @param url the server's; `size`: its sessions. */
  static async open(url: string, size = 2): Promise<TransactionPooler> {
    const sessions = await Promise.all(Array.from({ length: size }, () => openSession(url)));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new TransactionPooler(server, sessions, new URL(url).pathname);
  }

  get url(): string {
    const address = this.#server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    return `postgres://anybody@127.0.0.1:${port}${this.#database}`;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    for (const { socket } of this.#sessions) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  /** The session that became idle last; when there is none, the next that does. */
  take(): Promise<Session> {
    const session = this.#idle.pop();
    if (session !== undefined) return Promise.resolve(session);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  giveBack(session: Session): void {
    session.hear = () => undefined;
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(session);
    else next(session);
  }
}

interface Session {
  readonly socket: Socket;
  hear(message: Buffer): void;
}

/** A session that is logged in already: pg has done that, and its socket is taken over. */
async function openSession(url: string): Promise<Session> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  const connection: object = Reflect.get(client, "connection");
  const stream: Socket = Reflect.get(connection, "stream");
  stream.removeAllListeners("data");
  const session: Session = { socket: stream, hear: () => undefined };
  stream.on(
    "data",
    inMessages((message) => session.hear(message)),
  );
  return session;
}

/** One connection of a client. */
class PooledClient {
  readonly #socket: Socket;
  readonly #pooler: TransactionPooler;
  #session: Session | undefined;
  /** Queries and syncs that the server has not said it is ready after. */
  #unanswered = 0;
  /** Messages were sent that a sync is still to come for. */
  #isMidway = false;
  #last: Promise<void> = Promise.resolve();

  constructor(socket: Socket, pooler: TransactionPooler) {
    this.#socket = socket;
    this.#pooler = pooler;
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#last = this.#last.then(() => this.#leave());
    });
    this.#greet();
  }

  #greet(): void {
    this.#socket.once("data", (first) => {
      if (first.readInt32BE(4) === SSL_REQUEST) {
        this.#socket.write("N");
        this.#greet();
        return;
      }
      for (const [name, value] of Object.entries(PARAMETERS)) {
        this.#socket.write(message("S", Buffer.from(`${name}\0${value}\0`)));
      }
      this.#socket.write(
        Buffer.concat([
          message("R", Buffer.alloc(4)),
          message("K", Buffer.from([0, 0, 48, 57, 0, 0, 0, 1])),
          message("Z", Buffer.from("I")),
        ]),
      );
      this.#socket.on(
        "data",
        inMessages((each) => this.#send(each)),
      );
    });
  }

  #send(each: Buffer): void {
    this.#last = this.#last.then(async () => {
      const type = String.fromCharCode(each[0] ?? 0);
      if (type === "X") return void this.#socket.end();
      if (this.#session === undefined) {
        this.#session = await this.#pooler.take();
        this.#session.hear = (answer) => this.#hear(answer);
      }
      this.#isMidway = type !== "Q" && type !== "S";
      if (!this.#isMidway) this.#unanswered += 1;
      this.#session.socket.write(each);
    });
  }

  #hear(answer: Buffer): void {
    this.#socket.write(answer);
    if (answer[0] !== READY) return;
    this.#unanswered -= 1;
    const isIdle = answer[5] === "I".charCodeAt(0);
    if (isIdle && this.#unanswered === 0 && !this.#isMidway) this.#release();
  }

  #release(): void {
    const session = this.#session;
    this.#session = undefined;
    if (session !== undefined) this.#pooler.giveBack(session);
  }

  /** What a client leaves open is rolled back before the session goes to another. */
  #leave(): void {
    const session = this.#session;
    if (session === undefined) return;
    session.hear = (answer) => {
      if (answer[0] === READY) this.#release();
    };
    session.socket.write(message("Q", Buffer.from("ROLLBACK\0")));
  }
}

const SSL_REQUEST = 80_877_103;
const READY = "Z".charCodeAt(0);
const PARAMETERS = {
  server_version: "18.0",
  client_encoding: "UTF8",
  DateStyle: "ISO, MDY",
  standard_conforming_strings: "on",
};

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** Cuts a stream into the protocol's messages: a letter, a length, a body. */
function inMessages(hear: (message: Buffer) => void): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (data) => {
    rest = Buffer.concat([rest, data]);
    while (rest.length >= 5) {
      const length = rest.readInt32BE(1) + 1;
      if (rest.length < length) return;
      const whole = rest.subarray(0, length);
      rest = rest.subarray(length);
      hear(whole);
    }
  };
}
