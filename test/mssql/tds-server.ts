import { createServer, type Server, type Socket } from "node:net";
import { type Call, readBatch, readCall, readPrelogin } from "./tds-read.ts";
import {
  attentionReply,
  loginReply,
  type Part,
  packets,
  preloginReply,
  tokens,
} from "./tds-write.ts";

/** A statement as it came over the wire. */
export interface Said extends Call {
  /** Within `sp_executesql`, or as a batch of its own. */
  readonly kind: "batch" | "call";
  /** What the adapter says before each statement; `text` is the statement alone. */
  readonly before: string;
  readonly session: number;
}

/** What the server answers; `silence` is no answer, until the client gives it up. */
export type Reply = readonly Part[] | "silence" | "hang up";

/**
 * A server that speaks TDS, and runs no SQL: it answers what the test says, and by itself what the adapter's own
 * words for transactions ask for. For what a driver does on the wire; what SQL means, only SQL Server tells.
 */
export class TdsServer {
  readonly said: Said[] = [];
  /** Sessions that have logged in, and those of them that are open still. */
  opened = 0;
  /** Transactions that were committed. */
  committed = 0;
  readonly open = new Set<number>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The test's answer; undefined leaves it to the server. */
  answer: (said: Said) => Reply | undefined = () => undefined;

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it has no port");
    return address.port;
  }

  /** Cuts every session off. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** The texts that were sent, without what the pool itself asks. */
  get texts(): string[] {
    return this.said.map(({ text }) => text);
  }

  #serve(socket: Socket): void {
    const session = ++this.opened;
    const transaction = { isOpen: false };
    this.#sockets.add(socket);
    this.open.add(session);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.open.delete(session);
    });
    const send = (payload: Buffer) => void socket.write(packets(payload));
    onMessages(socket, (type, data) => {
      switch (type) {
        case PRELOGIN:
          readPrelogin(data);
          return send(preloginReply());
        case LOGIN7:
          return send(loginReply());
        case ATTENTION:
          // The answer to the request ends as it is, and the acknowledgement is a message of its own.
          send(tokens([], "batch"));
          return send(attentionReply());
        case BATCH:
        case RPC: {
          const kind = type === RPC ? "call" : "batch";
          const said = {
            kind,
            session,
            ...apart(kind === "call" ? readCall(data) : readBatch(data)),
          } as const;
          const reply = this.#reply(said, transaction.isOpen);
          if (reply === "hang up") return socket.destroy();
          if (reply === "silence") return;
          for (const part of reply) {
            if (part === "committed") this.committed++;
            if (part === "begun") transaction.isOpen = true;
            if (part === "committed" || part === "rolled back") transaction.isOpen = false;
          }
          return send(tokens(reply, kind));
        }
        default:
          throw new Error(`message ${type} is not spoken here`);
      }
    });
  }

  #reply(said: Said, isOpen: boolean): Reply {
    // What the driver and its pool say by themselves.
    if (said.text === "SELECT 1;") return [{ columns: { "": "int" }, rows: [[1]] }];
    if (said.text.startsWith("set ")) return [];
    this.said.push(said);
    const answered = this.answer(said);
    if (answered !== undefined) return answered;
    if (said.text.endsWith("BEGIN TRANSACTION")) return ["begun"];
    if (said.text.startsWith("IF @@TRANCOUNT = 1")) {
      return isOpen ? ["committed"] : [{ error: 51_002 }];
    }
    if (said.text.startsWith("IF @@TRANCOUNT > 0")) return isOpen ? ["rolled back"] : [];
    return [];
  }
}

/** The statement, and the settings before it; those of a BEGIN are its own. */
function apart(call: Call): Call & { readonly before: string } {
  const found = /^(SET NOCOUNT OFF; (?:SET TRANSACTION [A-Z ]+; )?)(?!SET XACT)/.exec(call.text);
  const before = found?.[1] ?? "";
  return { ...call, before, text: call.text.slice(before.length) };
}

const BATCH = 1;
const RPC = 3;
const ATTENTION = 6;
const LOGIN7 = 16;
const PRELOGIN = 18;

/** A message is one packet or several; the last says so. */
function onMessages(socket: Socket, take: (type: number, data: Buffer) => void): void {
  let buffered = Buffer.alloc(0);
  let message: Buffer[] = [];
  socket.on("data", (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 8 && buffered.length >= buffered.readUInt16BE(2)) {
      const length = buffered.readUInt16BE(2);
      const [type = 0, status = 0] = buffered;
      message.push(buffered.subarray(8, length));
      buffered = buffered.subarray(length);
      if ((status & 1) === 0) continue;
      const whole = Buffer.concat(message);
      message = [];
      take(type, whole);
    }
  });
}
