import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * A TCP proxy on loopback that delays both directions and counts round trips: each time a client
 * speaks after the server had the last word.
 */
export class DelayingProxy {
  readonly #server: Server;
  readonly #delayMs: number;
  readonly #sockets = new Set<Socket>();
  roundTrips = 0;

  constructor(target: { readonly host: string; readonly port: number }, delayMs: number) {
    this.#delayMs = delayMs;
    this.#server = createServer((client) => this.#join(client, connect(target)));
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return address.port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket, server: Socket): void {
    let isServersWord = true;
    this.#pass(client, server, () => {
      if (isServersWord) this.roundTrips += 1;
      isServersWord = false;
    });
    this.#pass(server, client, () => {
      isServersWord = true;
    });
  }

  #pass(from: Socket, to: Socket, seen: () => void): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on("data", (chunk) => {
      seen();
      setTimeout(() => to.writable && to.write(chunk), this.#delayMs);
    });
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#sockets.delete(from);
      setTimeout(() => to.end(), this.#delayMs);
    });
  }
}
