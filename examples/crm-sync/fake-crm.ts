import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** A change that the CRM took. */
export interface Taken {
  readonly customer: string;
  readonly field: string;
  readonly value: string;
  readonly trace: string | undefined;
}

/** Stands in for a CRM's API: on this machine, too busy at times, and particular about phone numbers. */
export class FakeCrm {
  readonly taken: Taken[] = [];
  readonly #keys = new Set<string>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #isBusy: (customer: string) => boolean;
  readonly #tell: (line: string) => void;

  constructor(isBusy: (customer: string) => boolean, tell: (line: string) => void = () => {}) {
    this.#isBusy = isBusy;
    this.#tell = tell;
  }

  async start(): Promise<URL> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const customer = request.url?.replace("/customers/", "") ?? "";
    const { field, value } = (await json(request)) as { field: string; value: string };
    const [status, text] = this.#judge(customer, field, value);
    this.#tell(`${customer} ${field}=${value}: ${status} ${text}`);
    const key = String(request.headers["idempotency-key"]);
    if (status === 200 && !this.#keys.has(key)) {
      this.#keys.add(key);
      const trace = request.headers["traceparent"];
      this.taken.push({ customer, field, value, trace: trace?.toString() });
    }
    response.writeHead(status, status === 503 ? { "retry-after": "1" } : {}).end(text);
  }

  #judge(customer: string, field: string, value: string): readonly [status: number, text: string] {
    if (field === "phone" && !/^\+\d+$/.test(value)) return [422, "no phone number"];
    return this.#isBusy(customer) ? [503, "busy"] : [200, "taken"];
  }
}
